/**
 * The queue recipe's port to ZooKeeper: ephemeral sequential nodes, and watches on the ones before.
 */
import { systemClock, type Clock } from '../../clock/clock.js'
import type { Claim, ClaimRef, ListQuery, NamesPage } from '../../store/contract.js'
import { decodeEntry, type EntryData } from '../coordination/wire.js'
import type {
  EnterResult,
  EnterSessions,
  Entry,
  Exactness,
  EntryReading,
  EntryQuery,
  ListedEntry,
  ListedQueue,
  Predecessor,
  ServiceWatch,
  CoordinationService,
  Waits,
  Watched,
} from '../coordination/connection/service.js'
import { BusyLocks } from '../coordination/queue/busy-locks.js'
import { mayGo } from '../coordination/queue/queue-rule.js'
import { ClaimBlocker } from './queue/claim-blocker.js'
import { enter } from './queue/enter-queue.js'
import { asLockError, CODES, hasCode, isSessionGone } from './errors.js'
import { readEntry } from './queue/read-entry.js'
import { NamePages, readQueues } from './queue/list-queues.js'
import { move } from './queue/move-entry.js'
import { OwnTurns } from './queue/own-turns.js'
import { encodeNode } from './wire/node-data.js'
import { DEFAULT_TICK_MS, type ZooKeeperOptions } from './options.js'
import { repeat, type ZooKeeperSession } from './session/session.js'
import { isOwn, OpenSessions } from './session/sessions.js'
import { removeNode, removeNowOrLater } from './queue/tree.js'
import { setData } from './wire/messages.js'

/**
 * From this number of reads in one tick on, waiters do not read their own entries as long as they
 * have to wait.
 */
const FEWEST_BRIEF = 8

export class ZooKeeperService implements CoordinationService<ZooKeeperSession> {
  readonly graceMs: number
  readonly adopts = false
  readonly keepsOrder = true
  readonly #options: ZooKeeperOptions
  readonly #clock: Clock
  readonly #restricted: boolean
  readonly #sessions: OpenSessions
  readonly #blocker: ClaimBlocker
  readonly #busyLocks = new BusyLocks()
  readonly #turns = new OwnTurns()
  readonly #pages: NamePages

  constructor(options: ZooKeeperOptions, clock: Clock = systemClock) {
    this.#options = options
    this.#clock = clock
    this.#restricted = options.auth !== undefined
    this.#sessions = new OpenSessions(options, clock)
    this.#blocker = new ClaimBlocker(this.#restricted, clock)
    this.#pages = new NamePages(clock)
    this.graceMs = options.tickMs ?? DEFAULT_TICK_MS
  }

  openSession(timeoutMs: number, exactness: Exactness): Promise<ZooKeeperSession> {
    return this.#sessions.open(timeoutMs, exactness)
  }

  async enter(
    claim: Claim,
    data: EntryData,
    sessions: EnterSessions<ZooKeeperSession>,
    wasInDoubt: boolean,
  ): Promise<EnterResult> {
    let inDoubt = wasInDoubt
    const restricted = this.#restricted
    const isBusy = this.#busyLocks.has(claim.lock)
    const { holder, openWaiter } = sessions
    let { waiter } = sessions
    // A move to the session for waiters may lose its answer. The next try knows that session, and
    // finds the entry in its place.
    const open = openWaiter && (async () => (waiter = await openWaiter()))
    try {
      const result = await repeat(this.#clock, () => {
        const by = { holder, waiter, openWaiter: open }
        const terms = { claim, data, isBusy, inDoubt, restricted, turns: this.#turns }
        const entering = enter({ ...terms, ...by })
        // A request that failed may have made the entry.
        inDoubt = true
        return entering
      })
      const waits =
        result.outcome === 'busy' || (result.outcome === 'entered' && !mayGo(claim, result))
      this.#busyLocks.note(claim.lock, waits)
      return result
    } catch (error) {
      // The answer was lost, and the entry may be there: the next attempt looks for it, a
      // withdrawal takes it out. Where a session is gone, it may be there on the other one.
      if (isSessionGone(error)) return { outcome: 'no-session' }
      for (const session of new Set([holder, waiter ?? holder]))
        this.#blocker.followUp(session, claim)
      throw asLockError(error, this.#options.connect)
    }
  }

  async readEntries(entries: readonly EntryQuery[]): Promise<readonly (EntryReading | Waits)[]> {
    // Where few wait, the entry and its queue are read at once, and the answer comes sooner.
    const isBrief = entries.length >= FEWEST_BRIEF
    return this.#typed(() =>
      Promise.all(
        entries.map(({ entry, claim, seen }) => {
          return readEntry(
            this.#sessions,
            isBrief && seen !== undefined ? { entry, claim, seen } : { entry, claim },
          )
        }),
      ),
    )
  }

  async amend(
    entry: Entry,
    data: EntryData,
    version: bigint,
    session?: ZooKeeperSession,
  ): Promise<bigint | undefined> {
    return this.#typed(async () => {
      if (session) {
        const restricted = this.#restricted
        if (!(await move({ entry, data, version, session, restricted }))) return undefined
        if (isOwn(entry)) entry.session = session
        return 0n
      }
      const present = await this.#sessions.of(entry)
      try {
        const text = encodeNode(data, entry.number)
        const stat = await present.ask(setData(entry.key, text, Number(version)))
        return BigInt(stat.version)
      } catch (error) {
        if (hasCode(error, CODES.badVersion, CODES.noNode)) return undefined
        throw error
      }
    })
  }

  async leave(entry: Entry): Promise<boolean> {
    const removed = await this.#typed(() =>
      this.#sessions.through(entry, (session) => removeNowOrLater(session, entry.key)),
    )
    if (removed) this.#turns.end(entry)
    return removed
  }

  async block(claim: ClaimRef): Promise<EntryData | undefined> {
    return this.#typed(() => this.#blocker.block(() => this.#sessions.any(), claim))
  }

  async evict({ entry }: ListedEntry): Promise<boolean> {
    return this.#typed(async () => removeNode(await this.#sessions.any(), entry.key))
  }

  watch(watched: Watched, changed: () => void): ServiceWatch {
    let open = true
    const sessions = new Map<string, ZooKeeperSession>()
    // A holder may hold for days while thousands wait for a moment: a session keeps nothing for
    // those that are gone.
    const close = (): void => {
      open = false
      for (const [key, session] of sessions) session.unwatch(key, once)
      sessions.clear()
    }
    const once = (): void => {
      if (!open) return
      close()
      changed()
    }
    const on = (predecessor: Predecessor, session: ZooKeeperSession): boolean => {
      if (open) sessions.set(predecessor.key, session)
      return open
    }
    for (const predecessor of watched.predecessors) void this.#watch(predecessor, watched, on, once)
    return { close }
  }

  async listNames(query: ListQuery): Promise<NamesPage> {
    return this.#typed(async () => this.#pages.next(await this.#sessions.any(), query))
  }

  async readQueues(
    locks: readonly string[],
    waitersUpTo?: readonly string[],
  ): Promise<readonly ListedQueue[]> {
    return this.#typed(async () => readQueues(await this.#sessions.any(), locks, waitersUpTo))
  }

  /**
   * Sessions of leases that are still held are left to run out: without a goodbye, their entries
   * stay so long.
   */
  async close(heldMs: number): Promise<void> {
    if (heldMs > 0) this.#clock.timer(heldMs, () => void this.#sessions.endAll(), true)
    else await this.#sessions.endAll()
  }

  /**
   * @param on notes the session that is about to watch; returns whether the watch is still wanted
   */
  async #watch(
    predecessor: Predecessor,
    { onlyGone, waits }: Watched,
    on: (predecessor: Predecessor, session: ZooKeeperSession) => boolean,
    changed: () => void,
  ): Promise<void> {
    try {
      const session = await this.#sessions.any()
      if (!on(predecessor, session)) return
      const data = decodeEntry(await session.watch(predecessor.key, changed))
      // It may have changed between the read and the watch.
      if (onlyGone || !data) return
      if (data.weight !== predecessor.weight || (waits && data.grantedMs !== undefined)) changed()
    } catch (error) {
      // What may not be read cannot be watched. A check, which need not read it, would lead here
      // again at once, and so on without end. The heartbeats of the waiter find out that it is its
      // turn.
      if (hasCode(error, CODES.noAuth)) return
      // It is gone, or can no longer be seen: a read says which.
      changed()
    }
  }

  async #typed<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run()
    } catch (error) {
      throw asLockError(error, this.#options.connect)
    }
  }
}
