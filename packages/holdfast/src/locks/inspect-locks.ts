/** `locks.inspect`: the locks of a namespace, page by page. */
import { LockUsageError } from '../errors.js'
import type { Client } from '../lease/client.js'
import { describe } from '../options/describe.js'
import { checkKeys, type KnownKeys } from '../options/known-keys.js'
import { checkWhole } from '../options/whole-number.js'
import type { LockInfo, Store } from '../store/contract.js'
import { assertOpenFor, lockWithJson } from './look-up.js'

/** Which locks `locks.inspect` shows. */
export interface InspectOptions {
  /** The prefix of the names, without the namespace. Default: all of the namespace. */
  readonly prefix?: string | undefined
  /** The largest number of locks on a page. Default 1 000. */
  readonly limit?: number | undefined
  /** The `cursor` of the page before, of an inspection with the same prefix. */
  readonly cursor?: string | undefined
}

/** A page of locks. */
export interface LocksPage {
  /** The locks that have holders or waiters, sorted by name within the page. */
  readonly locks: readonly LockInfo[]
  /** Present when there may be more locks: the option `cursor` of the next page. */
  readonly cursor: string | undefined
}

/** Where the next page begins. */
interface Place {
  /** The store's own cursor. Undefined before the first page of the store and behind the last. */
  readonly store: string | undefined
  /** Names that the store has given already. */
  readonly names: readonly string[]
  readonly isLast: boolean
}

const INSPECT_KEYS: KnownKeys<InspectOptions> = { prefix: 1, limit: 1, cursor: 1 }
/** How many locks one call of the store describes. */
const DESCRIBED_TOGETHER = 200

/** Resolves to a page of the locks of a namespace. */
export async function inspectLocks(
  { runtime }: Client,
  namespace: string,
  options: InspectOptions = {},
): Promise<LocksPage> {
  const { prefix, limit, cursor } = checkInspect(options)
  assertOpenFor(runtime, 'inspect')
  const full = namespace === '' ? prefix : `${namespace}:${prefix}`
  return inspectPage(runtime.store, { prefix: full, limit, cursor })
}

/**
 * Resolves to a page of the locks of a store. Each lock that is in use during all pages is on one
 * of them. Where the store lists names twice, a lock may be on two.
 */
export async function inspectPage(
  store: Store,
  { prefix = '', limit = 1000, cursor }: InspectOptions,
): Promise<LocksPage> {
  const found = new Map<string, LockInfo>()
  let place = cursor === undefined ? { store: undefined, names: [], isLast: false } : read(cursor)
  while (found.size < limit) {
    if (place.names.length === 0) {
      if (place.isLast) break
      place = await listFrom(store, place, prefix, limit - found.size)
    }
    const some = place.names.slice(0, Math.min(limit - found.size, DESCRIBED_TOGETHER))
    place = { ...place, names: place.names.slice(some.length) }
    // A lock that was shown by an earlier round of this page is not shown again.
    const unseen = some.filter((name) => !found.has(name))
    if (unseen.length === 0) continue
    for (const info of await store.inspect(unseen)) found.set(info.lock, lockWithJson(info))
  }
  const isOver = place.isLast && place.names.length === 0
  return { locks: sorted(found), cursor: isOver ? undefined : write(place) }
}

async function listFrom(
  store: Store,
  { store: cursor }: Place,
  prefix: string,
  limit: number,
): Promise<Place> {
  const page = await store.list({ prefix, cursor, limit })
  const names = [...new Set(page.names)]
  return { store: page.cursor, names, isLast: page.cursor === undefined }
}

function sorted(found: ReadonlyMap<string, LockInfo>): LockInfo[] {
  return [...found.values()].sort((one, other) => (one.lock < other.lock ? -1 : 1))
}

function write({ store, names, isLast }: Place): string {
  return JSON.stringify([isLast ? null : (store ?? null), isLast, names])
}

function read(cursor: string): Place {
  try {
    const [store, isLast, names] = JSON.parse(cursor) as [unknown, unknown, unknown]
    const isSound =
      (store === null || typeof store === 'string') &&
      typeof isLast === 'boolean' &&
      Array.isArray(names) &&
      names.every((name) => typeof name === 'string')
    if (isSound) return { store: store ?? undefined, names, isLast }
  } catch {
    // Below.
  }
  throw new LockUsageError(
    `The cursor of inspect must be the one of a page before, not ${describe(cursor)}.`,
  )
}

function checkInspect(
  options: InspectOptions,
): Required<Pick<InspectOptions, 'prefix' | 'limit'>> & Pick<InspectOptions, 'cursor'> {
  checkKeys('inspect', options, INSPECT_KEYS)
  const { prefix = '', limit = 1000, cursor } = options
  if (typeof prefix !== 'string') {
    throw new LockUsageError(`The prefix of inspect must be a string, not ${describe(prefix)}.`)
  }
  checkWhole('The limit of inspect', limit)
  if (cursor !== undefined) read(cursor)
  return { prefix, limit, cursor }
}
