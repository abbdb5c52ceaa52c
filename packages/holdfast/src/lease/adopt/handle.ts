/**
 * Handles of exported leases: text that a process passes to the process that adopts the lease.
 *
 * A handle names a lease and holds no credentials. Without access to the store it is useless. With
 * that access it adds nothing: `steal` and `inspect` already reach each lease.
 */
import { createHash } from 'node:crypto'
import { LockUsageError } from '../../errors.js'
import { LONGEST_TTL_MS, type LockKind } from '../../store/contract.js'
import { checkName } from '../../store/names.js'

/** What a handle says. */
export interface Handle {
  /** The name of the store, such as `redis`. */
  readonly store: string
  readonly lock: string
  readonly claimId: string
  readonly token: bigint
  readonly kind: LockKind
  readonly capacity: number
  readonly weight: number
  readonly ttlMs: number
}

/** The version of the format. A reader refuses every other. */
const VERSION = 'hf1'
const KINDS: readonly string[] = ['mutex', 'readWriteLock', 'semaphore'] satisfies LockKind[]
const LONGEST_HANDLE = 4096

export function encodeHandle(handle: Handle): string {
  const { store, lock, claimId, token, kind, capacity, weight, ttlMs } = handle
  const fields = [store, lock, claimId, String(token), kind, capacity, weight, ttlMs]
  const body = Buffer.from(JSON.stringify(fields)).toString('base64url')
  return `${VERSION}.${body}.${checksum(body)}`
}

/** @throws LockUsageError for a text that is no whole handle. */
export function decodeHandle(text: unknown): Handle {
  const [version, body = '', sum, ...rest] =
    typeof text === 'string' && text.length <= LONGEST_HANDLE ? text.split('.') : []
  if (version !== undefined && /^hf\d+$/.test(version) && version !== VERSION) {
    throw new LockUsageError(
      `The handle has the format ${version}, and this version of Holdfast knows ${VERSION}. Update Holdfast in this process.`,
    )
  }
  const isWhole = version === VERSION && sum === checksum(body) && rest.length === 0
  const handle = isWhole ? readFields(body) : undefined
  if (handle) return handle
  throw new LockUsageError(
    'This is no whole handle of an exported lease. Pass the text that lease.export() returned, unchanged.',
  )
}

/** Returns the list that a body encodes, if it is one. */
function parseFields(body: string): readonly unknown[] | undefined {
  try {
    const fields: unknown = JSON.parse(Buffer.from(body, 'base64url').toString())
    return Array.isArray(fields) ? fields : undefined
  } catch {
    return undefined
  }
}

function readFields(body: string): Handle | undefined {
  const fields = parseFields(body)
  if (fields?.length !== 8) return undefined
  const [store, lock, claimId, token, kind, capacity, weight, ttlMs] = fields
  const isName = typeof lock === 'string' && isLockName(lock)
  const isClaim = typeof claimId === 'string' && /^[\w.-]{1,64}$/.test(claimId)
  const isToken = typeof token === 'string' && /^\d{1,20}$/.test(token)
  const isWeight = isCount(capacity) && isCount(weight) && weight <= capacity
  if (!isName || !isClaim || !isToken || !isWeight || !isTtl(ttlMs)) return undefined
  if (typeof store !== 'string' || !KINDS.includes(String(kind))) return undefined
  return {
    store,
    lock,
    claimId,
    token: BigInt(token),
    kind: kind as LockKind,
    capacity,
    weight,
    ttlMs,
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0
}

function isTtl(value: unknown): value is number {
  return typeof value === 'number' && value > 0 && value <= LONGEST_TTL_MS
}

function isLockName(name: string): boolean {
  try {
    return checkName(name) === name
  } catch {
    return false
  }
}

/** Finds a handle that was cut or mistyped. It is no signature. */
function checksum(body: string): string {
  return createHash('sha256').update(`${VERSION}.${body}`).digest('hex').slice(0, 12)
}
