/** Reading a queue: where an entry stands, and what stands before it. */
import type { Claim } from '../../../store/contract.js'
import { decodeEntry } from '../../coordination/wire.js'
import type {
  EntryReading,
  EntryQuery,
  Predecessor,
  QueuePosition,
  Waits,
} from '../../coordination/connection/service.js'
import { mayGo, positionOf, wantsAll } from '../../coordination/queue/queue-rule.js'
import { decodeNode } from '../wire/node-data.js'
import { parentOf, queueOf } from '../keys.js'
import { listQueue, type NamedQueue } from './queue-lists.js'
import type { ZooKeeperSession } from '../session/session.js'
import { isOwn, type OpenSessions } from '../session/sessions.js'
import { childrenOf, readNode } from './tree.js'

export function readEntry(sessions: OpenSessions, at: EntryQuery): Promise<EntryReading | Waits> {
  return sessions.through(at.entry, (session) => readThrough(session, sessions, at))
}

async function readThrough(
  session: ZooKeeperSession,
  sessions: OpenSessions,
  at: EntryQuery,
): Promise<EntryReading | Waits> {
  const { entry, claim, seen } = at
  if (!claim) return present(sessions, at, await readNode(session, entry.key), NOTHING_BEFORE)
  if (seen !== undefined) {
    const position = await positionIn(
      await listQueue(session, entry.lock),
      session,
      entry.key,
      claim,
    )
    if (position && !mayGo(claim, position)) return { state: 'waits', ...position, moment: 0n }
    // Entries only leave, so what may go by the list still may when its node is read after it.
    if (position) return present(sessions, at, await readNode(session, entry.key), position)
  }
  const [node, queue] = await Promise.all([
    readNode(session, entry.key),
    listQueue(session, entry.lock),
  ])
  const position = await positionIn(queue, session, entry.key, claim)
  // It went between the two reads: without it nothing would stand before it.
  if (!position) return { state: 'absent' }
  return present(sessions, at, node, position)
}

export const NOTHING_BEFORE = { before: [], weight: 0 }

function present(
  sessions: OpenSessions,
  { entry }: EntryQuery,
  node: Awaited<ReturnType<typeof readNode>>,
  position: Omit<QueuePosition, 'moment'>,
): EntryReading {
  const decoded = node && decodeNode(node.text, node.stat.czxid)
  if (!node || !decoded) return { state: 'absent' }
  if (isOwn(entry)) {
    // A node of an earlier session may still be there for a moment, and goes with that session.
    const owner = sessions.byId(node.stat.ephemeralOwner)
    if (!owner) return { state: 'absent' }
    // It may have moved by a request that was not answered.
    entry.session = owner
  }
  return {
    state: 'present',
    data: decoded.data,
    version: BigInt(node.stat.version),
    ...position,
    moment: 0n,
  }
}

/** What stands before an entry. Undefined when the entry is not in the queue. */
export async function positionIn(
  queue: NamedQueue,
  session: ZooKeeperSession,
  key: string,
  claim: Pick<Claim, 'capacity' | 'weight' | 'kind'>,
): Promise<Omit<QueuePosition, 'moment'> | undefined> {
  const position = queue.view.before(key, claim)
  if (!position || claim.kind === 'semaphore' || wantsAll(claim)) return position
  // A reader. The data of a downgraded writer shows it.
  for (
    let writer = queue.view.lastWriter(key);
    writer;
    writer = queue.view.lastWriter(writer.key)
  ) {
    const weight = await queue.weightOf(writer, () => readWeight(session, writer))
    if (weight !== undefined) return positionOf(claim, [{ ...writer, weight }])
  }
  return NOTHING_BEFORE
}

/** Undefined when the entry has gone. */
async function readWeight(
  session: ZooKeeperSession,
  { key, weight }: Predecessor,
): Promise<number | undefined> {
  const node = await readNode(session, key)
  return node && (decodeEntry(node.text)?.weight ?? weight)
}

/**
 * The node of a claim that may or may not have been made. Nothing that any server has acknowledged
 * is missed.
 */
export async function findEntry(
  session: ZooKeeperSession,
  claim: Pick<Claim, 'lock' | 'id'>,
): Promise<string | undefined> {
  const parent = parentOf(claim.lock)
  const [, children] = await Promise.all([session.agree(), childrenOf(session, parent)])
  const own = queueOf(children).find(({ id }) => id === claim.id)
  return own && `${parent}/${own.name}`
}
