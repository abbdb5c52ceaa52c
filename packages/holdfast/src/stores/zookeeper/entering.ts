/**
 * Entering a queue.
 *
 * Requests of one session are answered in their order, and a session sees all that was written before its own last write. So
 * an entry and the list of its queue travel together, and whatever stands before the entry is in the list.
 */
import type { Claim } from '../../store/contract.js'
import { decodeEntry, encodeEntry, type EntryData } from '../sequenced/entry.js'
import type { EnterResult } from '../sequenced/port.js'
import { mayGo } from '../sequenced/queue-rule.js'
import { findEntry, standing } from './looking.js'
import { areAlike, childPrefix, goneName, parentOf, queueOf, shapeOf, type Child } from './nodes.js'
import type { ZooKeeperSession } from './session.js'
import type { OwnEntry } from './sessions.js'
import { childrenOf, inLock, readNode, removeNode } from './tree.js'
import { create, FLAGS } from './wire/messages.js'

export interface Entrance {
  readonly claim: Claim
  readonly data: EntryData
  readonly session: ZooKeeperSession
  /** Whether it is to wait when somebody is before it. */
  readonly enqueue: boolean
  /** Whether an earlier request, whose answer was lost, may have made the entry. */
  readonly unclear: boolean
  /** Whether only the identity of this client may use the nodes. */
  readonly restricted: boolean
}

interface Made {
  readonly key: string
  readonly number: bigint
}

export async function enter(entrance: Entrance): Promise<EnterResult> {
  const { claim, session, enqueue, restricted } = entrance
  const found = entrance.unclear ? await findMade(session, claim) : undefined
  const [made, children] = await inLock(session, claim.lock, restricted, () =>
    Promise.all([found ?? make(entrance), childrenOf(session, parentOf(claim.lock))]),
  )
  const queue = queueOf(children)
  const own = queue.findIndex(({ name }) => made.key.endsWith(`/${name}`))
  const all = queue.slice(0, Math.max(0, own))
  const refusal = await refusalOf(session, claim, children, all)
  const before = await standing(session, claim, all)
  const busy = !enqueue && !mayGo(claim, before)
  if (refusal || busy || own < 0) {
    await takeBack(session, made.key)
    return refusal ?? (busy ? { outcome: 'busy' } : { outcome: 'withdrawn' })
  }
  const entry: OwnEntry = { lock: claim.lock, id: claim.id, ...made, session }
  return { outcome: 'entered', entry, version: 0n, before, moment: 0n, onWaiterSession: false }
}

async function make({ claim, data, session, restricted }: Entrance): Promise<Made> {
  const request = create(childPrefix(claim), encodeEntry(data), FLAGS.ephemeralSequential, restricted)
  const { path, stat } = await session.ask(request)
  return { key: path, number: stat.czxid }
}

async function findMade(session: ZooKeeperSession, claim: Claim): Promise<Made | undefined> {
  const key = await findEntry(session, claim)
  const node = key === undefined ? undefined : await readNode(session, key)
  if (key === undefined || !node) return undefined
  if (node.stat.ephemeralOwner === session.id) return { key, number: node.stat.czxid }
  // It was made on a session that is not ours any more, and would go with that one: a new entry stands on its own.
  await removeNode(session, key)
  return undefined
}

/** Why a claim cannot stay: somebody withdrew it, or the lock has another shape. */
async function refusalOf(
  session: ZooKeeperSession,
  claim: Claim,
  children: readonly string[],
  before: readonly Child[],
): Promise<EnterResult | undefined> {
  if (children.includes(goneName(claim.id))) return { outcome: 'withdrawn' }
  const other = before.find(({ shape }) => !areAlike(shape, shapeOf(claim)))
  if (!other) return undefined
  const node = await readNode(session, `${parentOf(claim.lock)}/${other.name}`)
  const data = node && decodeEntry(node.text)
  if (data) return { outcome: 'mismatch', kind: data.kind, capacity: data.capacity }
  // It has left just now: whoever is told so may ask again.
  const capacity = Number(other.shape.slice(1)) || claim.capacity
  return { outcome: 'mismatch', kind: 'semaphore', capacity }
}

async function takeBack(session: ZooKeeperSession, key: string): Promise<void> {
  try {
    await removeNode(session, key)
  } catch (error) {
    session.owe(() => removeNode(session, key))
    throw error
  }
}
