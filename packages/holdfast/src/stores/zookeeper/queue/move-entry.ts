/**
 * Moving an entry to another session. Its node is made again in one step, so it keeps its
 * place in the queue.
 *
 * Waiters stand on a session of a few seconds, so that a dead waiter delays no other claim. Holders
 * stand on one that is longer than the TTL. A client that watches the node is notified that it has
 * gone, looks again, and finds it where it was.
 */
import type { EntryData } from '../../coordination/wire.js'
import { CODES, hasCode, ZooKeeperFailure } from '../errors.js'
import { encodeNode } from '../wire/node-data.js'
import type { ZooKeeperSession } from '../session/session.js'
import type { OwnEntry } from '../session/sessions.js'
import { replace } from '../wire/messages.js'

export interface Move {
  readonly entry: Omit<OwnEntry, 'session'>
  readonly data: EntryData
  /** The move is refused when the data has another version. */
  readonly version: bigint
  readonly session: ZooKeeperSession
  readonly restricted: boolean
}

/** False when the entry is gone or has changed. */
export async function move({ entry, data, version, session, restricted }: Move): Promise<boolean> {
  const text = encodeNode(data, entry.number)
  const code = await session.ask(replace(entry.key, text, Number(version), restricted))
  if (code === 0) return true
  const failure = new ZooKeeperFailure(code)
  if (hasCode(failure, CODES.badVersion, CODES.noNode)) return false
  throw failure
}
