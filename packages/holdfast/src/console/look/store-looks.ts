/**
 * The looks at one store, the same for all viewers. Each look asks for the rows that viewers see,
 * and for the locks with waiters or trouble. A walk finds the others. Without viewers nothing asks.
 */
import type { Clock, Timer } from '../../clock/clock.js'
import { pause } from '../../clock/pause.js'
import type { Store } from '../../store/contract.js'
import { Health } from './health.js'
import { KnownLocks, type ChangeListener } from './known-locks.js'
import { PAGE, Walk } from './walk.js'

export interface LookSettings {
  readonly store: Store
  /** How the full names of all locks begin: the namespace of the client. */
  readonly prefix: string
  readonly clock: Clock
  readonly refreshMs: number
  readonly onChange: ChangeListener
  /** Called after each look, with the moment that the views show from now on. */
  readonly onLook: () => void
}

/** The moment that views show, by both clocks. */
export interface Moment {
  readonly monotonicMs: number
  readonly wallMs: number
}

/** A viewer that has not asked for this many looks is gone. */
const LOOKS_WITHOUT_VIEWERS = 4
const SHORTEST_WITHOUT_VIEWERS_MS = 10_000
/** How many locks one look asks for at most. The others follow at the next one. */
const MOST_IN_A_LOOK = 1_000

export class StoreLooks {
  readonly known: KnownLocks
  readonly health: Health
  readonly store: Store
  readonly #settings: LookSettings
  readonly #clock: Clock
  readonly #walk: Walk
  readonly #keepsMs: number
  /** Resolves when the walk has met its first locks. */
  readonly #firstRows: Promise<void>
  /** Until when viewers want each of these locks, by the monotonic clock. */
  readonly #wanted = new Map<string, number>()
  #moment: Moment
  #publishedVersion = -1
  /** When the store answered last, by the monotonic clock. */
  #answeredMs: number
  #viewedMs = -Infinity
  #ticking: Timer | undefined
  #walking: Timer | undefined
  #look: Promise<void> | undefined
  #isWalking = false
  #isClosed = false
  #hasLooked = false

  constructor(settings: LookSettings) {
    const { store, prefix, clock, refreshMs, onChange } = settings
    this.#settings = settings
    this.store = store
    this.#clock = clock
    this.#keepsMs = Math.max(SHORTEST_WITHOUT_VIEWERS_MS, refreshMs * LOOKS_WITHOUT_VIEWERS)
    this.known = new KnownLocks(onChange)
    this.health = new Health(clock)
    this.#walk = new Walk(store, prefix, this.known, clock)
    this.#moment = this.#now()
    this.#answeredMs = clock.monotonicMs()
    this.#firstRows = new Promise((resolve) => {
      this.#walk.onFirst = () => {
        this.#publish()
        resolve()
      }
    })
    this.#walk.onHurried = () => {
      if (this.known.version !== this.#publishedVersion) this.#publish()
    }
  }

  get moment(): Moment {
    return this.#moment
  }

  get answeredMs(): number {
    return this.#answeredMs
  }

  /** Whether the walk has met each lock. */
  get isComplete(): boolean {
    return this.#walk.isComplete
  }

  /** Whether a lock may be shown at all: it is in the namespace of the client. */
  covers(lock: string): boolean {
    return lock.startsWith(this.#settings.prefix)
  }

  /**
   * Notes a viewer. Looks go on for a while after the last one. Resolves when there is something to
   * show: at once, unless the last viewer left long ago.
   */
  async view(): Promise<void> {
    if (this.#isClosed) return
    this.#viewedMs = this.#clock.monotonicMs()
    this.#walkOn()
    if (!this.#ticking) this.#tick()
    this.health.check()
    if (this.#isFresh) return
    await Promise.all([this.#look, this.#firstRows])
  }

  /** Whether a look has ended lately. */
  get #isFresh(): boolean {
    const ageMs = this.#clock.monotonicMs() - this.#moment.monotonicMs
    return this.#hasLooked && ageMs <= this.#settings.refreshMs * 2
  }

  /** Whether a lock was seen since the last look but one. */
  isRecent(lock: string): boolean {
    const known = this.known.get(lock)
    if (!known) return false
    return this.#clock.monotonicMs() - known.seenMs <= this.#settings.refreshMs * 2
  }

  /** Wants these locks in each look. */
  want(locks: readonly string[]): void {
    const untilMs = this.#clock.monotonicMs() + this.#keepsMs
    for (const lock of locks) this.#wanted.set(lock, untilMs)
  }

  /** Asks for locks at once. Resolves to whether the store has answered. Never rejects. */
  async ask(locks: readonly string[]): Promise<boolean> {
    const names = locks.filter((lock) => this.covers(lock))
    if (names.length === 0) return true
    if (this.#isClosed) return false
    try {
      this.known.note(names, await this.store.inspect(names), this.#clock.monotonicMs())
      this.#publish()
      return true
    } catch {
      // The looks find out whether the store is away.
      return false
    }
  }

  close(): void {
    this.#isClosed = true
    this.#ticking?.cancel()
    this.#walking?.cancel()
  }

  #now(): Moment {
    return { monotonicMs: this.#clock.monotonicMs(), wallMs: this.#clock.wallMs() }
  }

  #publish(): void {
    this.#moment = this.#now()
    this.#publishedVersion = this.known.version
    this.#settings.onLook()
  }

  get #isViewed(): boolean {
    return this.#clock.monotonicMs() - this.#viewedMs <= this.#keepsMs
  }

  /** Begins a look, unless the one before has had no answer yet: then its views are of then. */
  #tick(): void {
    this.#ticking = undefined
    if (this.#isClosed || !this.#isViewed) return
    this.#ticking = this.#clock.timer(this.#settings.refreshMs, () => this.#tick(), true)
    if (this.#look) {
      this.health.check()
      return this.#publish()
    }
    this.#look = this.#lookOnce().finally(() => {
      this.#look = undefined
      this.#hasLooked = true
      if (!this.#isClosed) this.#publish()
    })
  }

  async #lookOnce(): Promise<void> {
    const names = this.#namesToAsk()
    for (let from = 0; from < names.length && !this.#isClosed; from += PAGE) {
      // Each page is a turn of the event loop of its own, on stores that answer at once too.
      if (from > 0) await pause(this.#clock, 0, true)
      const some = names.slice(from, from + PAGE)
      const infos = await this.health.watch(() => this.store.inspect(some))
      if (infos === undefined) return
      this.#answeredMs = this.#clock.monotonicMs()
      this.known.note(some, infos, this.#answeredMs)
    }
  }

  /** Never empty, since a look also finds out whether the store answers. */
  #namesToAsk(): readonly string[] {
    const nowMs = this.#clock.monotonicMs()
    for (const [lock, untilMs] of this.#wanted) if (untilMs < nowMs) this.#wanted.delete(lock)
    const names = new Set(this.#wanted.keys())
    const hot = this.known.hot().sort((one, other) => one.seenMs - other.seenMs)
    for (const { lock } of hot) {
      if (names.size >= MOST_IN_A_LOOK) break
      names.add(lock)
    }
    return names.size > 0 ? [...names] : [`${this.#settings.prefix}console`]
  }

  #walkOn(): void {
    if (this.#isWalking || this.#walking || this.#isClosed) return
    this.#isWalking = true
    void this.#step()
      .then((restMs) => this.#rest(restMs))
      .finally(() => (this.#isWalking = false))
  }

  async #step(): Promise<number> {
    const { refreshMs } = this.#settings
    try {
      return await this.#walk.step(refreshMs)
    } catch {
      this.#walk.restart()
      return refreshMs
    }
  }

  #rest(restMs: number): void {
    if (this.#isClosed || !this.#isViewed) return
    const next = (): void => {
      this.#walking = undefined
      if (this.#isViewed) this.#walkOn()
    }
    this.#walking = this.#clock.timer(restMs, next, true)
  }
}
