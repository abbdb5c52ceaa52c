/** A client of a service like ZooKeeper: the steps of the queue recipe are requests in order. */
import type {
  CoordinationService,
  EnterResult,
  EnterSessions,
  Entry,
  EntryData,
  EntryQuery,
  EntryReading,
  Exactness,
  ListedEntry,
  ListedQueue,
  Predecessor,
  ServiceWatch,
  Waits,
  Watched,
} from 'holdfast/internal'
import type { Claim, ClaimRef, ListQuery, NamesPage } from 'holdfast/store'
import type { Recipe } from '../../runtime.js'
import { lockOf } from '../entry-keys.js'
import { hasCode } from './failure.js'
import type { OrderedGround } from './connection.js'
import { OrderedQueue } from './queue.js'
import { asUnavailable, type OrderedSession } from './session.js'
import { ONLOOKER_MS, OrderedSessions } from './sessions.js'
import { isOwn } from './writes.js'

/** What the clock of the service rounds away, in milliseconds. */
export const TICK_MS = 500

export class OrderedService implements CoordinationService<OrderedSession> {
  readonly graceMs = TICK_MS
  readonly adopts = false
  readonly keepsOrder = true
  readonly #ground: OrderedGround
  readonly #recipe: Recipe
  readonly #sessions: OrderedSessions
  readonly #queue: OrderedQueue
  /** The locks for which the last claim had to wait. */
  readonly #busy = new Set<string>()
  /** Claims that were given up, for as long as a request of theirs may still be on the way. */
  readonly #blocked = new Set<string>()

  constructor(ground: OrderedGround, recipe: Recipe) {
    this.#ground = ground
    this.#recipe = recipe
    this.#sessions = new OrderedSessions(ground)
    this.#queue = new OrderedQueue(ground.server, recipe, (id) => this.#sessions.byId(id))
  }

  openSession(timeoutMs: number, _exactness: Exactness): Promise<OrderedSession> {
    return this.#sessions.open(timeoutMs)
  }

  async enter(
    claim: Claim,
    data: EntryData,
    sessions: EnterSessions<OrderedSession>,
    wasInDoubt: boolean,
  ): Promise<EnterResult> {
    const { holder, openWaiter } = sessions
    const isBusy = this.#busy.has(claim.lock)
    let { waiter } = sessions
    let inDoubt = wasInDoubt
    // A move to the session for waiters may lose its answer. The next try knows that session.
    const open = openWaiter && (async () => (waiter = await openWaiter()))
    try {
      const result = await holder.repeat(() => {
        const entrance = { claim, data, holder, waiter, openWaiter: open, isBusy, inDoubt }
        // A request that failed may have made the entry.
        inDoubt = true
        return this.#queue.enter(entrance)
      })
      this.#noteBusy(claim, result)
      return result
    } catch (error) {
      if (hasCode(error, 'session-expired')) return { outcome: 'no-session' }
      for (const session of new Set([holder, waiter ?? holder])) this.#followUp(session, claim)
      throw asUnavailable(error)
    }
  }

  async readEntries(entries: readonly EntryQuery[]): Promise<readonly (EntryReading | Waits)[]> {
    const isBrief = this.#ground.dice.chance(0.5)
    const read = (at: EntryQuery): Promise<EntryReading | Waits> =>
      this.#sessions.through(at.entry, (session) => this.#queue.read(session, at, isBrief))
    return typed(Promise.all(entries.map(read)))
  }

  async amend(
    entry: Entry,
    data: EntryData,
    version: bigint,
    session?: OrderedSession,
  ): Promise<bigint | undefined> {
    if (!session) {
      const write = async (): Promise<bigint | undefined> =>
        this.#queue.writes.write(await this.#sessions.of(entry), entry, data, version)
      return typed(write())
    }
    if (!(await typed(this.#queue.writes.move(entry, data, version, session)))) return undefined
    if (isOwn(entry)) entry.session = session
    return 0n
  }

  leave(entry: Entry): Promise<boolean> {
    return typed(
      this.#sessions.through(entry, (session) =>
        this.#queue.writes.removeNowOrLater(session, entry),
      ),
    )
  }

  async block(claim: ClaimRef): Promise<EntryData | undefined> {
    this.#blocked.add(claim.id)
    const lateMs = claim.ttlMs + ONLOOKER_MS
    this.#ground.process.timer(lateMs, () => this.#blocked.delete(claim.id))
    const block = async (): Promise<EntryData | undefined> => {
      const session = await this.#sessions.any()
      await this.#queue.writes.mark(session, claim)
      this.#ground.process.timer(lateMs, () => {
        this.#queue.writes.unmark(session, claim).catch(() => undefined)
      })
      return this.#queue.takeOut(session, claim)
    }
    return typed(block())
  }

  async evict({ entry }: ListedEntry): Promise<boolean> {
    const evict = async (): Promise<boolean> =>
      this.#queue.writes.remove(await this.#sessions.any(), entry)
    return typed(evict())
  }

  watch(watched: Watched, changed: () => void): ServiceWatch {
    let isOpen = true
    const sessions = new Map<string, OrderedSession>()
    const close = (): void => {
      isOpen = false
      for (const [key, session] of sessions) session.unwatch(key, once)
      sessions.clear()
    }
    const once = (): void => {
      if (!isOpen) return
      close()
      changed()
    }
    const on = (key: string, session: OrderedSession): boolean => {
      if (isOpen) sessions.set(key, session)
      return isOpen
    }
    for (const predecessor of watched.predecessors) void this.#watch(predecessor, watched, on, once)
    return { close }
  }

  listNames({ prefix }: ListQuery): Promise<NamesPage> {
    return Promise.resolve({ names: this.#queue.namesWith(prefix), cursor: undefined })
  }

  readQueues(locks: readonly string[]): Promise<readonly ListedQueue[]> {
    return typed(this.#sessions.any().then((session) => this.#queue.readQueues(session, locks)))
  }

  /** Sessions of leases that are still held are left to run out. */
  async close(heldMs: number): Promise<void> {
    if (heldMs > 0) this.#ground.process.timer(heldMs, () => void this.#sessions.endAll())
    else await this.#sessions.endAll()
  }

  reset(): void {
    this.#sessions.reset()
  }

  async #watch(
    { key, weight }: Predecessor,
    { onlyGone, waits }: Watched,
    on: (key: string, session: OrderedSession) => boolean,
    changed: () => void,
  ): Promise<void> {
    try {
      const session = await this.#sessions.any()
      if (!on(key, session)) return
      const data = await this.#queue.watch(session, lockOf(key), key, changed)
      // It may have changed between the read and the watch.
      if (onlyGone) return
      if (data.weight !== weight || (waits && data.grantedMs !== undefined)) changed()
    } catch {
      // It is gone, or can no longer be seen: a read says which.
      changed()
    }
  }

  /** An attempt was cut off: should its claim be given up, it leaves nothing behind. */
  #followUp(session: OrderedSession, claim: Claim): void {
    session.doLater(claim.id, async () => {
      if (this.#blocked.has(claim.id)) await this.#queue.takeOut(session, claim)
    })
  }

  #noteBusy(claim: Claim, result: EnterResult): void {
    const waits =
      result.outcome === 'busy' ||
      (result.outcome === 'entered' && !this.#recipe.mayGo(claim, result))
    if (waits) this.#busy.add(claim.lock)
    else this.#busy.delete(claim.lock)
  }
}

async function typed<T>(asking: Promise<T>): Promise<T> {
  try {
    return await asking
  } catch (error) {
    throw asUnavailable(error)
  }
}
