/**
 * Requests whose outcome is unknown, repeated until the service answers. The requests may arrive
 * twice, and in any order.
 */
import type { Clock, Timer } from '../clock/clock.js'
import { pause } from '../clock/pause.js'
import type { MaybePromise } from '../store/maybe-promise.js'

/** When one request is repeated, and when no more. */
export interface Repetition {
  readonly clock: Clock
  /** The pause after a number of failures, in milliseconds. */
  readonly pauseMs: (failures: number) => number
  /** Whether the failure is final. */
  readonly givesUp: (error: unknown, failures: number) => boolean
  /** The process may end during a pause. Default false. */
  readonly background?: boolean
}

/** Repeats a request until it is answered. Rejects with the failure that is final. */
export async function repeatUntilAnswered<T>(
  ask: () => MaybePromise<T>,
  { clock, pauseMs, givesUp, background = false }: Repetition,
): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await ask()
    } catch (error) {
      if (givesUp(error, failures)) throw error
    }
    await pause(clock, pauseMs(failures), background)
  }
}

/** How the requests of a `RepeatedRequests` are made. */
export interface Repetitions<K, V> {
  readonly clock: Clock
  /** The pause after a failure, in milliseconds. */
  readonly everyMs: number
  /** How many requests leave together: a service that fails need not get all of them. */
  readonly mostAtOnce: number
  /** Whether a request is due. `never` gives it up. */
  when(key: K, value: V): 'now' | 'later' | 'never'
  /** Makes the request. Rejects when no answer came. */
  ask(key: K, value: V): Promise<unknown>
}

interface Repeated<V> {
  readonly value: V
  isOpen: boolean
}

/**
 * Many requests to one service, by key. After a failure the others are made first. They are made
 * once in `everyMs`, at each sign of life of the service, and as soon as it has answered those
 * before them.
 */
export class RepeatedRequests<K, V> {
  readonly #settings: Repetitions<K, V>
  /** The request that was made last stands last. */
  readonly #requests = new Map<K, Repeated<V>>()
  #openSweeps = 0
  #isFailing = false
  #timer: Timer | undefined
  #isStopped = false

  constructor(settings: Repetitions<K, V>) {
    this.#settings = settings
  }

  get size(): number {
    return this.#requests.size
  }

  has(key: K): boolean {
    return this.#requests.has(key)
  }

  /** Whether the request is in flight. */
  isOpen(key: K): boolean {
    return this.#requests.get(key)?.isOpen ?? false
  }

  /** The keys, those first whose request was made longest ago. */
  keys(): IterableIterator<K> {
    return this.#requests.keys()
  }

  /** Repeats a request that has failed just now. */
  add(key: K, value: V): void {
    if (this.#isStopped) return
    this.#requests.delete(key)
    this.#requests.set(key, { value, isOpen: false })
    this.#timer ??= this.#startTimer()
  }

  /** Makes a request, unless the service fails or has not answered the ones before it. */
  addNew(key: K, value: V): void {
    // A failure of long ago says nothing about the service now.
    if (this.#requests.size === 0) this.#isFailing = false
    this.add(key, value)
    if (this.#openSweeps === 0 && !this.#isFailing) this.sweep()
  }

  delete(key: K): void {
    this.#requests.delete(key)
  }

  /** Makes the requests that are due. */
  sweep(): void {
    const due = this.#takeDue()
    if (due.length === 0) return
    this.#openSweeps += 1
    void Promise.all(due.map(([key, request]) => this.#ask(key, request))).then((answered) => {
      this.#openSweeps -= 1
      this.#isFailing = answered.includes(false)
      if (!this.#isFailing) this.sweep()
    })
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
    this.#requests.clear()
  }

  #takeDue(): [K, Repeated<V>][] {
    const { mostAtOnce } = this.#settings
    const due: [K, Repeated<V>][] = []
    for (const [key, request] of this.#requests) {
      // Not while it is open: it could undo what its key stands for by then.
      if (request.isOpen) continue
      const when = this.#settings.when(key, request.value)
      if (when === 'never') this.#requests.delete(key)
      else if (when === 'now' && due.push([key, request]) === mostAtOnce) break
    }
    return due
  }

  /** Resolves to whether the service answered. */
  async #ask(key: K, request: Repeated<V>): Promise<boolean> {
    request.isOpen = true
    try {
      await this.#settings.ask(key, request.value)
      if (this.#requests.get(key) === request) this.#requests.delete(key)
      return true
    } catch {
      if (this.#requests.get(key) === request) {
        this.#requests.delete(key)
        this.#requests.set(key, request)
      }
      return false
    } finally {
      request.isOpen = false
    }
  }

  #startTimer(): Timer {
    const fire = (): void => {
      this.#timer = undefined
      this.sweep()
      if (this.#requests.size > 0) this.#timer ??= this.#startTimer()
    }
    return this.#settings.clock.timer(this.#settings.everyMs, fire, true)
  }
}
