/** What `doctor` reports about an etcd cluster. */
import { systemClock } from '../../clock/clock.js'
import { isLockError } from '../../errors.js'
import { Connection } from './connection/connection.js'
import { METHODS, readStatus } from './wire/messages.js'
import { checkOptions } from './options.js'
import type { EtcdOptions } from './connection/endpoints.js'

/** What `doctor` reports about a member of etcd. */
export interface EtcdMember {
  readonly endpoint: string
  /** Why it did not answer. The rest is missing then. */
  readonly failure?: string
  readonly version?: string
  readonly leads?: boolean
  /** Whether it knows of a leader: without one it serves nothing. */
  readonly hasLeader?: boolean
  readonly databaseBytes?: number
  /** Alarms such as a full database. */
  readonly alarms?: readonly string[]
  readonly roundTripMs?: number
}

/**
 * Asks each member how it is.
 * @throws LockUsageError when the options make no sense; LockError when the credentials or the
 * client library are wrong.
 */
export async function diagnose(options: EtcdOptions): Promise<readonly EtcdMember[]> {
  checkOptions(options, 'diagnose')
  const connection = new Connection(options)
  try {
    return await Promise.all(
      options.endpoints.map((endpoint, index) => examine(connection, endpoint, index)),
    )
  } finally {
    connection.close()
  }
}

async function examine(
  connection: Connection,
  endpoint: string,
  index: number,
): Promise<EtcdMember> {
  const startedMs = systemClock.monotonicMs()
  try {
    const body = await connection.request(METHODS.status, Buffer.alloc(0), {
      repeatable: true,
      endpoint: index,
    })
    const { memberId, version, databaseBytes, leader, errors } = readStatus(body)
    return {
      endpoint,
      version,
      leads: leader === memberId,
      hasLeader: leader !== 0n,
      databaseBytes,
      alarms: errors,
      roundTripMs: systemClock.monotonicMs() - startedMs,
    }
  } catch (error) {
    if (isLockError(error) && error.code !== 'STORE_UNAVAILABLE') throw error
    return { endpoint, failure: error instanceof Error ? error.message : String(error) }
  }
}

/**
 * Why locks on this version of etcd are in danger, or undefined when no such fault is known of it.
 * Faults of the server are what a client cannot make up for. From etcd's change logs: "leases
 * wrongly revoked by the leader" is fixed in 3.4.31 (pull request 17465) and 3.5.13 (17425). The
 * data inconsistency of 3.5.0 to 3.5.2 is fixed in 3.5.3.
 */
export function knownFault(version: string): string | undefined {
  const [major = 0, minor = 0, patch = 0] = version
    .split('.')
    .map((part) => Number.parseInt(part, 10))
  if (major < 3 || (major === 3 && minor < 4)) return 'Holdfast needs etcd 3.4 or later'
  if (major > 3 || minor > 5) return undefined
  if (minor === 5 && patch < 3) return 'members may come to disagree after a crash (fixed in 3.5.3)'
  const fixedIn = minor === 4 ? 31 : 13
  return patch < fixedIn
    ? `a leader that was replaced may end sessions that live (fixed in 3.${minor}.${fixedIn})`
    : undefined
}
