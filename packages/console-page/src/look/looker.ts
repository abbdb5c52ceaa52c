/** Keeps one view current: asks again and again, and never while the tab is hidden. */
import type { ConsoleView } from '../../../holdfast/src/console/view.js'
import type { Answer, Api } from './api.js'
import { writeQuery, type Query } from './query.js'

export interface Look {
  readonly state: 'loading' | 'live' | 'lost' | 'signed-out' | 'forbidden'
  readonly view?: ConsoleView
  /** What the view answers. */
  readonly asked?: Query
  /** When the server looked, on the clock of `performance.now()`. */
  readonly lookedAt: number
  /** Why the console does not answer. */
  readonly message?: string
}

/** Rows that are asked for on each side of the visible ones. */
export const AHEAD = 15
const LEAST_ROW_PX = 34
/** The server sends no more. */
const MOST_ROWS = 200
const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 10_000
/** The server meets most locks in the first moments. */
const QUICK_FOR_MS = 1_500
const QUICK_MS = 250

/** Returns how many rows an answer has. Each costs time to draw, so they depend on the screen. */
export function windowRows(): number {
  return Math.min(MOST_ROWS, Math.ceil(innerHeight / LEAST_ROW_PX) + 2 * AHEAD)
}

export class Looker {
  look: Look = { state: 'loading', lookedAt: 0 }
  readonly #api: Api
  #query: Query
  #offset = 0
  #etag: { readonly of: string; readonly value: string | undefined } | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #request: { readonly cancel: AbortController } | undefined
  #failures = 0
  /** Until when an incomplete view is asked for again at once. */
  #quickUntil = 0
  readonly #listeners = new Set<() => void>()

  constructor(api: Api, query: Query) {
    this.#api = api
    this.#query = query
  }

  start(): void {
    this.#quickUntil = performance.now() + QUICK_FOR_MS
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) this.#pause()
      else this.ask()
    })
    if (!document.hidden) this.ask()
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Shows something else. What is on its way for the query before is given up. */
  show(query: Query): void {
    const before = this.#query
    this.#query = query
    if (before.search !== query.search || before.sort !== query.sort) this.#offset = 0
    if (before.store !== query.store) {
      this.#quickUntil = performance.now() + QUICK_FOR_MS
      this.#change({ state: 'loading', lookedAt: 0 })
    }
    this.#pause()
    this.ask()
  }

  /** Asks for other rows. A request on its way is not given up, or fast scrolling would starve. */
  scrollTo(offset: number): void {
    if (offset === this.#offset) return
    this.#offset = offset
    if (this.#request === undefined) this.ask()
  }

  /** Asks now. After a refusal this is how the page tries again. */
  ask(): void {
    clearTimeout(this.#timer)
    if (this.#request !== undefined || document.hidden) return
    const query = this.#query
    const text = this.#text()
    const cancel = new AbortController()
    // Without a view, an answer that nothing has changed would leave the page empty.
    const isKnown = this.look.view !== undefined && this.#etag?.of === text
    const etag = isKnown ? this.#etag?.value : undefined
    const startedAt = performance.now()
    this.#request = { cancel }
    void this.#api.view(text, etag, cancel.signal).then((answer) => {
      if (cancel.signal.aborted) return
      this.#request = undefined
      this.#take(answer, query, text)
      this.#askLater(performance.now() - startedAt, text)
    })
  }

  #text(): string {
    const window = `&offset=${this.#offset}&limit=${windowRows()}`
    return `${writeQuery(this.#query)}${window}`
  }

  #take(answer: Answer, asked: Query, text: string): void {
    const { look } = this
    this.#failures = answer.kind === 'failed' ? this.#failures + 1 : 0
    switch (answer.kind) {
      case 'view': {
        const { view, etag, ageMs } = answer
        this.#etag = { of: text, value: etag }
        return this.#change({ state: 'live', view, asked, lookedAt: performance.now() - ageMs })
      }
      case 'same': {
        const { message: _, ...rest } = look
        return this.#change({ ...rest, state: 'live', asked })
      }
      case 'failed':
        return this.#change({ ...look, state: 'lost', message: answer.message })
      case 'signed-out':
      case 'forbidden':
        // What was visible is not visible any more.
        return this.#change({ state: answer.kind, lookedAt: 0 })
    }
  }

  #askLater(tookMs: number, text: string): void {
    const { state, view } = this.look
    if (document.hidden || state === 'signed-out' || state === 'forbidden') return
    if (state !== 'lost' && text !== this.#text()) return this.ask()
    const isQuick = view?.totals.isComplete === false && performance.now() < this.#quickUntil
    const refreshMs = isQuick ? QUICK_MS : (view?.refreshMs ?? FIRST_RETRY_MS)
    const waitMs =
      state === 'lost'
        ? Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.#failures - 1))
        : Math.max(QUICK_MS, refreshMs - tookMs)
    this.#timer = setTimeout(() => this.ask(), waitMs)
  }

  #pause(): void {
    clearTimeout(this.#timer)
    this.#request?.cancel.abort()
    this.#request = undefined
  }

  #change(look: Look): void {
    this.look = look
    for (const listener of this.#listeners) listener()
  }
}
