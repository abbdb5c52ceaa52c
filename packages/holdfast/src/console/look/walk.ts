/**
 * A walk over all names of a store, page by page. It rests in proportion to what its steps
 * take. So it takes a small part of the time of the store and of this process.
 */
import type { Clock } from '../../clock/clock.js'
import { pause } from '../../clock/pause.js'
import type { Store } from '../../store/contract.js'
import type { KnownLocks } from './known-locks.js'

/** How many locks one request describes. */
export const PAGE = 200
/** The part of the time that the walk may take. */
const DUTY = 0.02
const LONGEST_REST_MS = 10_000
/** How many steps of one kind tell what such a step costs. */
const MOST_TIMES = 16
/** For how long the first walk takes no rest: a viewer has just opened the page. */
const HURRY_MS = 500

export class Walk {
  readonly #store: Store
  readonly #prefix: string
  readonly #known: KnownLocks
  readonly #clock: Clock
  #startedMs: number
  #cursor: string | undefined
  /** Names that the store has listed, and that are not described yet. */
  #names: ReadonlySet<string> = new Set()
  /** Since when the first of these names waits. */
  #listedMs = 0
  readonly #listTimes: number[] = []
  readonly #describeTimes: number[] = []
  /** Whether the next page is not the first one of its walk. */
  #isBegun = false
  #hurriesUntilMs: number | undefined
  /** Whether each lock was met: the first walk has ended. */
  isComplete = false
  /** Called once, when the first locks are known, or that there are none. */
  onFirst: (() => void) | undefined
  /** Called once, when the walk has met all locks or begins to rest. */
  onHurried: (() => void) | undefined

  constructor(store: Store, prefix: string, known: KnownLocks, clock: Clock) {
    this.#store = store
    this.#prefix = prefix
    this.#known = known
    this.#clock = clock
    this.#startedMs = clock.monotonicMs()
  }

  /** Takes one step. Resolves to the time to rest before the next one. */
  async step(pauseMs: number): Promise<number> {
    const startMs = this.#clock.monotonicMs()
    this.#hurriesUntilMs ??= startMs + HURRY_MS
    const describes = this.#isDue(startMs - pauseMs)
    const isOver = describes ? await this.#describe() : await this.#list(startMs)
    const nowMs = this.#clock.monotonicMs()
    const times = describes ? this.#describeTimes : this.#listTimes
    const costMs = shortestOf(times, nowMs - startMs)
    if (nowMs < this.#hurriesUntilMs && !this.isComplete) return 0
    this.onHurried?.()
    this.onHurried = undefined
    const restMs = Math.min(LONGEST_REST_MS, costMs * (1 / DUTY - 1))
    return isOver ? Math.max(restMs, pauseMs) : restMs
  }

  /** Begins again: the store may have forgotten the cursor. */
  restart(): void {
    this.#cursor = undefined
    this.#names = new Set()
    this.#isBegun = false
  }

  /**
   * Returns whether the listed names are described now. Between many names of others a page has few
   * names, and a request for each page would cost more than the names do.
   */
  #isDue(listedBeforeMs: number): boolean {
    if (this.#names.size === 0) return false
    const isLast = this.#isBegun && this.#cursor === undefined
    if (isLast || this.onFirst !== undefined || this.#names.size >= PAGE) return true
    return this.#listedMs <= listedBeforeMs
  }

  async #list(startMs: number): Promise<boolean> {
    if (!this.#isBegun) this.#startedMs = startMs
    const query = { prefix: this.#prefix, cursor: this.#cursor, limit: PAGE }
    const page = await this.#store.list(query)
    this.#isBegun = true
    this.#cursor = page.cursor
    if (this.#names.size === 0) this.#listedMs = this.#clock.monotonicMs()
    this.#names = new Set([...this.#names, ...page.names])
    return this.#names.size === 0 && this.#endIfLast()
  }

  /** Removes what the walk has not met, a page in each turn of the event loop. */
  async #forget(): Promise<void> {
    const names = this.#known.unseenSince(this.#startedMs)
    for (let from = 0; from < names.length; from += PAGE) {
      if (from > 0) await pause(this.#clock, 0, true)
      this.#known.forget(names.slice(from, from + PAGE), this.#startedMs)
    }
  }

  async #describe(): Promise<boolean> {
    const names = [...this.#names]
    const some = names.slice(0, PAGE)
    this.#names = new Set(names.slice(PAGE))
    this.#listedMs = this.#clock.monotonicMs()
    const infos = await this.#store.inspect(some)
    this.#known.note(some, infos, this.#clock.monotonicMs())
    this.#noteFirst()
    return this.#names.size === 0 && this.#endIfLast()
  }

  /** Returns whether that was the last page. */
  async #endIfLast(): Promise<boolean> {
    if (this.#cursor !== undefined) return false
    await this.#forget()
    this.#isBegun = false
    this.isComplete = true
    this.#noteFirst()
    return true
  }

  #noteFirst(): void {
    this.onFirst?.()
    this.onFirst = undefined
  }
}

/**
 * Notes how long a step took, and returns the shortest of the last times. What a step takes beyond
 * it was time without a processor: rests in proportion to that would hardly end on a busy machine.
 */
function shortestOf(times: number[], tookMs: number): number {
  times.push(tookMs)
  if (times.length > MOST_TIMES) times.shift()
  return Math.min(...times)
}
