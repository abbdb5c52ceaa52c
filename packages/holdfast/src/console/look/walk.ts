/**
 * A walk over all names of a store, page by page. It rests in proportion to what its last step
 * took. So it takes a small part of the time of the store and of this process.
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
  #names: readonly string[] = []
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
    const isOver = this.#names.length > 0 ? await this.#describe() : await this.#list(startMs)
    const nowMs = this.#clock.monotonicMs()
    if (nowMs < this.#hurriesUntilMs && !this.isComplete) return 0
    this.onHurried?.()
    this.onHurried = undefined
    const tookMs = nowMs - startMs
    const restMs = Math.min(LONGEST_REST_MS, tookMs * (1 / DUTY - 1))
    return isOver ? Math.max(restMs, pauseMs) : restMs
  }

  /** Begins again: the store may have forgotten the cursor. */
  restart(): void {
    this.#cursor = undefined
    this.#names = []
    this.#isBegun = false
  }

  async #list(startMs: number): Promise<boolean> {
    if (!this.#isBegun) this.#startedMs = startMs
    const query = { prefix: this.#prefix, cursor: this.#cursor, limit: PAGE }
    const page = await this.#store.list(query)
    this.#isBegun = true
    this.#cursor = page.cursor
    this.#names = [...new Set(page.names)]
    return this.#names.length === 0 && this.#endIfLast()
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
    const some = this.#names.slice(0, PAGE)
    this.#names = this.#names.slice(some.length)
    const infos = await this.#store.inspect(some)
    this.#known.note(some, infos, this.#clock.monotonicMs())
    this.#noteFirst()
    return this.#names.length === 0 && this.#endIfLast()
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
