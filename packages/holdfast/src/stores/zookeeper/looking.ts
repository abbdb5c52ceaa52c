/** Reading a queue: where an entry stands, and what stands before it. */
import type { Claim } from '../../store/contract.js'
import { decodeEntry } from '../sequenced/entry.js'
import type { Look, LookedAt, Place } from '../sequenced/port.js'
import { decodeNode } from './node-data.js'
import { checkShapes, parentOf, queueOf, type Child } from './nodes.js'
import type { ZooKeeperSession } from './session.js'
import { isOwn, type OpenSessions } from './sessions.js'
import { childrenOf, readNode } from './tree.js'

export function look(sessions: OpenSessions, at: LookedAt): Promise<Look> {
  return sessions.through(at.entry, (session) => lookFrom(session, sessions, at))
}

async function lookFrom(
  session: ZooKeeperSession,
  sessions: OpenSessions,
  { entry, claim }: LookedAt,
): Promise<Look> {
  const [node, children] = await Promise.all([
    readNode(session, entry.key),
    childrenOf(session, parentOf(entry.lock)),
  ])
  const decoded = node && decodeNode(node.text, node.stat.czxid)
  if (!node || !decoded) return { state: 'absent' }
  if (isOwn(entry)) {
    // A node of an earlier session may still be there for a moment, and goes with that session.
    const owner = sessions.byId(node.stat.ephemeralOwner)
    if (!owner) return { state: 'absent' }
    // It may have moved by a request that was not answered.
    entry.session = owner
  }
  const { data } = decoded
  const queue = queueOf(children)
  const own = queue.findIndex(({ name }) => entry.key.endsWith(`/${name}`))
  // It went between the two reads: without it nothing would stand before it.
  if (own < 0) return { state: 'absent' }
  const before = await standing(session, { ...claim, lock: entry.lock }, queue.slice(0, own))
  return { state: 'present', data, version: BigInt(node.stat.version), before, moment: 0n }
}

/** What of those before a claim decides. A writer that was downgraded says so in its data. */
export async function standing(
  session: ZooKeeperSession,
  claim: Pick<Claim, 'lock' | 'capacity' | 'weight' | 'kind'>,
  before: readonly Child[],
): Promise<readonly Place[]> {
  checkShapes(claim.lock, before)
  const parent = parentOf(claim.lock)
  const placeOf = ({ name, weight }: Child): Place => ({ key: `${parent}/${name}`, weight })
  if (claim.kind === 'semaphore') return before.map(placeOf)
  if (claim.weight >= claim.capacity) return before.slice(-1).map(placeOf)
  const writers = before.filter(({ shape }) => shape === 'w').map(placeOf)
  const now = await Promise.all(
    writers.map(async (writer) => {
      const node = await readNode(session, writer.key)
      return node ? [{ ...writer, weight: decodeEntry(node.text)?.weight ?? writer.weight }] : []
    }),
  )
  return now.flat()
}

/** The node of a claim that may or may not have been made. Nothing that any server has acknowledged is missed. */
export async function findEntry(
  session: ZooKeeperSession,
  claim: Pick<Claim, 'lock' | 'id'>,
): Promise<string | undefined> {
  const parent = parentOf(claim.lock)
  const [, children] = await Promise.all([session.agree(), childrenOf(session, parent)])
  const own = queueOf(children).find(({ id }) => id === claim.id)
  return own && `${parent}/${own.name}`
}
