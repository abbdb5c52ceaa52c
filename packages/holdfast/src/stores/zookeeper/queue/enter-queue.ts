/**
 * Entering a queue.
 *
 * Requests of one session are answered in their order, and a session sees all that was written
 * before its own last write. So an entry and the list of its queue travel together, and the
 * list has all that stands before the entry. Where the last entries were all of this client, its
 * number shows that nothing does.
 */
import type { Claim } from '../../../store/contract.js'
import { decodeEntry, encodeEntry, type EntryData } from '../../coordination/wire.js'
import type { Entered, EnterResult, QueuePosition } from '../../coordination/connection/service.js'
import { mayGo, wantsAll } from '../../coordination/queue/queue-rule.js'
import { asLockError, isRefusal } from '../errors.js'
import { findEntry, NOTHING_BEFORE, positionIn } from './read-entry.js'
import { move } from './move-entry.js'
import type { OwnTurns } from './own-turns.js'
import { decodeNode } from '../wire/node-data.js'
import { childPrefix, goneName, parentOf, shapeOf } from '../keys.js'
import { listQueue, type NamedQueue } from './queue-lists.js'
import type { ZooKeeperSession } from '../session/session.js'
import type { OwnEntry } from '../session/sessions.js'
import { inLock, readNode, removeNode, removeNowOrLater } from './tree.js'
import { create, FLAGS } from '../wire/messages.js'

export interface Entrance {
  readonly claim: Claim
  readonly data: EntryData
  /** For an entry that holds. */
  readonly holder: ZooKeeperSession
  /** For one that waits, if it is open. */
  readonly waiter: ZooKeeperSession | undefined
  /** Opens it. Without it the claim does not wait. */
  readonly openWaiter: (() => Promise<ZooKeeperSession>) | undefined
  /** Whether it will have to wait, as far as the client knows: a wrong guess costs a request. */
  readonly isBusy: boolean
  /** Whether an earlier request, whose answer was lost, may have made the entry. */
  readonly inDoubt: boolean
  /** Whether only the identity of this client may use the nodes. */
  readonly restricted: boolean
  readonly turns: OwnTurns
}

interface Made {
  readonly key: string
  readonly number: bigint
  readonly version: bigint
  /** What it shows, where an earlier request made it. */
  readonly data?: EntryData
  readonly session: ZooKeeperSession
}

export async function enter(entrance: Entrance): Promise<EnterResult> {
  const { claim, holder, waiter, inDoubt, isBusy, restricted, turns } = entrance
  let made = inDoubt ? await findMade(entrance) : undefined
  const session = made?.session ?? (isBusy && waiter ? waiter : holder)
  const makeAndList = async (): Promise<[Made, NamedQueue]> => {
    const [making, listing] = await Promise.allSettled([
      made ? Promise.resolve(made) : make(entrance, session),
      listQueue(session, claim.lock),
    ])
    if (making.status === 'rejected') throw making.reason
    // The entry is there, also if the list failed.
    made = making.value
    if (listing.status === 'rejected') throw listing.reason
    return [made, listing.value]
  }
  const makeOnly = async (): Promise<Made> => (made = await make(entrance, session))
  try {
    if (!inDoubt && turns.isLikely(claim.lock)) {
      const next = await inLock(session, claim.lock, restricted, makeOnly)
      if (turns.isNext(claim.lock, next)) {
        noteTurn(entrance, next)
        return entered(claim, next, NOTHING_BEFORE, session === waiter)
      }
    }
    return await stay(
      entrance,
      session,
      ...(await inLock(session, claim.lock, restricted, makeAndList)),
    )
  } catch (error) {
    // An earlier request may have made an entry that was not found: a withdrawal of the claim
    // has to look for it.
    if (entrance.inDoubt || !isRefusal(error)) throw error
    if (made) await removeNowOrLater(session, made.key)
    return { outcome: 'refused', error: asLockError(error, session.connect) }
  }
}

/** Finds its place in the queue, and goes again when it may not stay. */
async function stay(
  entrance: Entrance,
  session: ZooKeeperSession,
  made: Made,
  queue: NamedQueue,
): Promise<EnterResult> {
  const { claim, waiter, restricted } = entrance
  const position = await positionIn(queue, session, made.key, claim)
  const refusal = await refusalOf(session, claim, queue, made.key)
  const waits = position !== undefined && !mayGo(claim, position)
  const busy = waits && !entrance.openWaiter
  if (refusal || busy || !position) {
    await removeNowOrLater(session, made.key)
    return refusal ?? (busy ? { outcome: 'busy' } : { outcome: 'withdrawn' })
  }
  if (!waits) noteTurn(entrance, made, queue)
  const here = entered(claim, made, position, session === waiter)
  if (!waits || session === waiter) return here
  // It has to wait, and moves without losing its place. If it has changed meanwhile, a read
  // finds that.
  const { entry, version } = here
  const { data } = entrance
  const target = await entrance.openWaiter?.()
  if (target && (await move({ entry, data, version, session: target, restricted }))) {
    entry.session = target
    return { ...here, data, version: 0n, onWaiterSession: true }
  }
  return here
}

/** Only a list shows marks, so no turn begins beside one. */
function noteTurn({ claim, turns }: Entrance, made: Made, queue?: NamedQueue): void {
  if (wantsAll(claim) && queue?.hasMarks !== true) turns.begin(claim.lock, made)
}

function entered(
  { lock, id }: Claim,
  { key, number, version, data, session }: Made,
  position: Omit<QueuePosition, 'moment'>,
  onWaiterSession: boolean,
): Entered & { readonly entry: OwnEntry } {
  return {
    outcome: 'entered',
    entry: { lock, id, key, number, session },
    version,
    ...(data && { data }),
    ...position,
    moment: 0n,
    onWaiterSession,
  }
}

async function make(
  { claim, data, restricted }: Entrance,
  session: ZooKeeperSession,
): Promise<Made> {
  const request = create(
    childPrefix(claim),
    encodeEntry(data),
    FLAGS.ephemeralSequential,
    restricted,
  )
  const { path, stat } = await session.ask(request)
  return { key: path, number: stat.czxid, version: 0n, session }
}

async function findMade({ claim, holder, waiter }: Entrance): Promise<Made | undefined> {
  // The lost request may have left on either session. Once a new connection of that session has
  // answered, ZooKeeper takes no request from the old one.
  if (waiter && waiter !== holder) await waiter.agree()
  const key = await findEntry(holder, claim)
  const node = key === undefined ? undefined : await readNode(holder, key)
  const decoded = node && decodeNode(node.text, node.stat.czxid)
  if (key === undefined || !node || !decoded) return undefined
  const session = [holder, waiter].find((one) => one?.id === node.stat.ephemeralOwner)
  const { data, number } = decoded
  if (session) return { key, number, version: BigInt(node.stat.version), data, session }
  // It was made on a session that is not ours any more, and would go with that one: a new entry
  // stands on its own.
  await removeNode(holder, key)
  return undefined
}

/** Returns why a claim cannot stay: it was withdrawn, or the lock is of another kind. */
async function refusalOf(
  session: ZooKeeperSession,
  claim: Claim,
  queue: NamedQueue,
  key: string,
): Promise<EnterResult | undefined> {
  if (queue.hasChild(goneName(claim.id))) return { outcome: 'withdrawn' }
  const other = queue.strangerBefore(key, shapeOf(claim))
  if (!other) return undefined
  const node = await readNode(session, `${parentOf(claim.lock)}/${other.name}`)
  const data = node && decodeEntry(node.text)
  if (data) return { outcome: 'mismatch', kind: data.kind, capacity: data.capacity }
  // That claim has left just now. The caller may try again.
  const capacity = Number(other.shape.slice(1)) || claim.capacity
  return { outcome: 'mismatch', kind: 'semaphore', capacity }
}
