/**
 * The steps of the queue recipe at a service like ZooKeeper. Each is a request of its own, and may
 * be the last one before the connection breaks.
 */
import type {
  EnterResult,
  Entry,
  EntryData,
  EntryQuery,
  EntryReading,
  ListedQueue,
  QueuePosition,
  Waits,
} from 'holdfast/internal'
import type { Claim, ClaimRef } from 'holdfast/store'
import type { Recipe } from '../../runtime.js'
import { OrderedFailure } from './failure.js'
import type { View } from './followers.js'
import type { OrderedSession } from './session.js'
import { isOwn, OrderedWrites, type OwnEntry } from './writes.js'
import { shapeOf, strangerIn, type Queue, type StoredEntry } from '../queues.js'
import type { CoordinationServer } from '../server.js'

export interface Entrance {
  readonly claim: Claim
  readonly data: EntryData
  readonly holder: OrderedSession
  readonly waiter: OrderedSession | undefined
  readonly openWaiter: (() => Promise<OrderedSession>) | undefined
  /** Whether it will have to wait, as far as the client knows. */
  readonly isBusy: boolean
  /** Whether an earlier request, whose answer was lost, may have made the entry. */
  readonly inDoubt: boolean
}

interface Made {
  readonly entry: StoredEntry
  readonly session: OrderedSession
}

type Weighed = Pick<Claim, 'capacity' | 'weight' | 'kind'>

const NOTHING_BEFORE = { before: [], weight: 0 }

export class OrderedQueue {
  readonly writes: OrderedWrites
  readonly #server: CoordinationServer
  readonly #recipe: Recipe
  readonly #byId: (id: bigint) => OrderedSession | undefined

  /** @param byId finds a living session of this client */
  constructor(
    server: CoordinationServer,
    recipe: Recipe,
    byId: (id: bigint) => OrderedSession | undefined,
  ) {
    this.writes = new OrderedWrites(server)
    this.#server = server
    this.#recipe = recipe
    this.#byId = byId
  }

  async enter(entrance: Entrance): Promise<EnterResult> {
    const { claim, holder, waiter, isBusy, inDoubt } = entrance
    const found = inDoubt ? await this.#findMade(entrance) : undefined
    const session = found?.session ?? (isBusy && waiter ? waiter : holder)
    const [making, listing] = await Promise.allSettled([
      found ?? this.#make(entrance, session),
      this.#listAgain(session, claim.lock),
    ])
    if (making.status === 'rejected') throw making.reason
    if (listing.status === 'rejected') throw listing.reason
    return this.#stay(entrance, making.value, listing.value)
  }

  /** Looks at an entry through a session, and at what stands before it. */
  async read(
    session: OrderedSession,
    at: EntryQuery,
    isBrief: boolean,
  ): Promise<EntryReading | Waits> {
    const { entry, claim, seen } = at
    if (!claim) return this.#present(entry, await this.#node(session, entry), NOTHING_BEFORE)
    if (isBrief && seen !== undefined) {
      const position = this.#before(await this.#list(session, entry.lock), entry.key, claim)
      if (position && !this.#recipe.mayGo(claim, position))
        return { state: 'waits', ...position, moment: 0n }
      // Entries only leave: what may go by the list still may when its node is read after it.
      if (position) return this.#present(entry, await this.#node(session, entry), position)
    }
    const [node, queue] = await Promise.all([
      this.#node(session, entry),
      this.#list(session, entry.lock),
    ])
    const position = this.#before(queue, entry.key, claim)
    // It went between the two reads: without it nothing would stand before it.
    return position ? this.#present(entry, node, position) : { state: 'absent' }
  }

  /** Takes out the entry of a claim that may or may not have been made. */
  async takeOut(session: OrderedSession, claim: ClaimRef): Promise<EntryData | undefined> {
    const found = await this.#find(session, claim)
    if (!found) return undefined
    // Another client may have taken it out meanwhile: only that one counts it.
    return (await this.writes.remove(session, found)) ? found.data : undefined
  }

  /** What a key shows, and a call when it changes from then on. Rejects where there is no node. */
  async watch(
    session: OrderedSession,
    lock: string,
    key: string,
    changed: () => void,
  ): Promise<EntryData> {
    const request = {
      kind: 'read',
      handle: (view: View) => {
        const found = view.of(lock).entries.find((entry) => entry.key === key)
        if (!found) throw new OrderedFailure('no-node')
        return found.data
      },
      watches: { lock, key },
    } as const
    return session.watch(request, key, changed)
  }

  /** The names of all locks with a prefix. */
  namesWith(prefix: string): readonly string[] {
    return this.#server.queues.locks.filter((lock) => lock.startsWith(prefix))
  }

  /** Shows locks as a server shows them that may be behind. */
  readQueues(session: OrderedSession, locks: readonly string[]): Promise<ListedQueue[]> {
    const handle = (view: View): ListedQueue[] =>
      locks
        .map((lock) => ({
          lock,
          entries: view.of(lock).entries.map(({ id, key, number, data, version }) => ({
            entry: { lock, id, key, number },
            data,
            version,
            sessionLeftMs: undefined,
          })),
        }))
        .filter(({ entries }) => entries.length > 0)
    return session.repeat(() => session.ask({ kind: 'read', handle }))
  }

  /** Finds its place in the queue, and goes again when it may not stay. */
  async #stay(entrance: Entrance, { entry, session }: Made, queue: Queue): Promise<EnterResult> {
    const { claim, data, waiter } = entrance
    const position = this.#before(queue, entry.key, claim)
    const refusal = refusalOf(claim, queue, entry)
    const waits = position !== undefined && !this.#recipe.mayGo(claim, position)
    const isBusy = waits && !entrance.openWaiter
    if (refusal || isBusy || !position) {
      await this.writes.removeNowOrLater(session, entry)
      return refusal ?? (isBusy ? { outcome: 'busy' } : { outcome: 'withdrawn' })
    }
    const { lock, id, key, number, version } = entry
    const own: OwnEntry = { lock, id, key, number, session }
    const found = { outcome: 'entered', entry: own, version, data: entry.data } as const
    const entered = { ...found, ...position, moment: 0n }
    if (!waits || session === waiter) return { ...entered, onWaiterSession: session === waiter }
    // It has to wait, and moves without losing its place.
    const target = await entrance.openWaiter?.()
    if (target && (await this.writes.move(own, data, version, target))) {
      own.session = target
      return { ...entered, data, version: 0n, onWaiterSession: true }
    }
    return { ...entered, onWaiterSession: false }
  }

  async #make({ claim, data }: Entrance, session: OrderedSession): Promise<Made> {
    const { lock, id } = claim
    const handle = (): StoredEntry => {
      const key = `${lock}/${this.#server.queues.nextRevision}`
      const sessionId = session.id as bigint
      return this.#server.make({ lock, id, key, data, sessionId, shape: shapeOf(claim) }, 0n)
    }
    return { entry: await session.ask({ kind: 'write', handle }), session }
  }

  async #findMade({ claim, holder, waiter }: Entrance): Promise<Made | undefined> {
    // The lost request may have left on either session. Once that session has another connection,
    // nothing of the old one arrives.
    if (waiter && waiter !== holder) await waiter.agree()
    const entry = await this.#find(holder, claim)
    if (!entry) return undefined
    const session = [holder, waiter].find((one) => one?.id === entry.sessionId)
    if (session) return { entry, session }
    // It was made on a session that is not ours any more, and would go with that one.
    await this.writes.remove(holder, entry)
    return undefined
  }

  /** Finds the entry of a claim. Nothing that any server has acknowledged is missed. */
  async #find(
    session: OrderedSession,
    { lock, id }: Pick<ClaimRef, 'lock' | 'id'>,
  ): Promise<StoredEntry | undefined> {
    const [, queue] = await Promise.all([session.agree(), this.#listAgain(session, lock)])
    return queue.entries.find((entry) => entry.id === id)
  }

  #listAgain(session: OrderedSession, lock: string): Promise<Queue> {
    return session.repeat(() => this.#list(session, lock))
  }

  #list(session: OrderedSession, lock: string): Promise<Queue> {
    return session.ask({ kind: 'read', handle: (view) => view.of(lock) })
  }

  #node(session: OrderedSession, { lock, key, id }: Entry): Promise<StoredEntry | undefined> {
    return session.repeat(() =>
      session.ask({
        kind: 'read',
        handle: (view) =>
          view.of(lock).entries.find((entry) => entry.key === key && entry.id === id),
      }),
    )
  }

  #present(
    entry: Entry,
    node: StoredEntry | undefined,
    position: Omit<QueuePosition, 'moment'>,
  ): EntryReading {
    if (!node) return { state: 'absent' }
    if (isOwn(entry)) {
      // A node of an earlier session may still be there for a moment, and goes with that session.
      const owner = this.#byId(node.sessionId)
      if (!owner) return { state: 'absent' }
      // It may have moved by a request that was not answered.
      entry.session = owner
    }
    const { data, version } = node
    return { state: 'present', data, version, ...position, moment: 0n }
  }

  /** What stands before an entry. Undefined when the entry is not in the queue. */
  #before(
    { entries }: Queue,
    key: string,
    claim: Weighed,
  ): Omit<QueuePosition, 'moment'> | undefined {
    const members = entries.map(({ key: name, shape, data }) => ({
      key: name,
      weight: data.weight,
      isWriter: shape === 'w',
    }))
    return new this.#recipe.QueueView(members).before(key, claim)
  }
}

/** Returns why a claim cannot stay: it was withdrawn, or the lock is of another kind. */
function refusalOf(
  claim: Claim,
  { entries, gone }: Queue,
  own: StoredEntry,
): EnterResult | undefined {
  if (gone.has(claim.id)) return { outcome: 'withdrawn' }
  const before = entries.slice(
    0,
    entries.findIndex(({ key }) => key === own.key),
  )
  const stranger = strangerIn(before, claim)
  return stranger && { outcome: 'mismatch', ...shapeIn(stranger.data) }
}

function shapeIn({ kind, capacity }: EntryData): Pick<EntryData, 'kind' | 'capacity'> {
  return { kind, capacity }
}
