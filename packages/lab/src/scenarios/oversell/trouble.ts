/**
 * What the conductor does when a buyer has seen the last item: nothing that hopes for an
 * interleaving, each is driven.
 */
import type { Arrival, Conduct } from '../../actor.js'
import type { Strategy } from '../../strategies/strategy.js'
import { LAST_ITEM, type CounterNote } from './counter.js'

/** What was driven, for the report. */
export interface Driven {
  /** When it began, by `performance.now()`; undefined while it has not come to it. */
  readonly atMs: number | undefined
  /** How long a buyer of another item waited, in milliseconds. */
  readonly bystanderMs: number | undefined
  /** Whether nothing moved any more after a process had been killed. */
  readonly stuck: boolean
}

export interface Trouble extends Conduct {
  readonly driven: Driven
}

export interface TroubleSettings {
  readonly ttlMs: number
  /** Buys another item, and resolves when it could. */
  readonly bystander: () => Promise<void>
  /** Called when nothing has moved for so long that it never will. */
  readonly giveUp: () => void
}

/**
 * A buyer that waits for company waits no longer than this: under some strategies no other buyer
 * can come.
 */
const COMPANY_MS = 3000
/** How many TTLs a process stays stopped, and how many the others wait behind a dead one. */
const TTLS = 2

class Driver implements Trouble {
  readonly driven: { atMs: number | undefined; bystanderMs: number | undefined; stuck: boolean } = {
    atMs: undefined,
    bystanderMs: undefined,
    stuck: false,
  }
  readonly #strategy: Strategy
  readonly #settings: TroubleSettings
  readonly #sawLast = new Set<number>()
  #waiting: Arrival[] = []
  #moves = 0

  constructor(strategy: Strategy, settings: TroubleSettings) {
    this.#strategy = strategy
    this.#settings = settings
  }

  arrived = (arrival: Arrival): void => {
    const { trouble } = this.#strategy
    const first = this.driven.atMs === undefined
    if (trouble !== undefined && first) this.driven.atMs = performance.now()
    if (arrival.point !== LAST_ITEM) void this.#kill(arrival)
    else if (trouble === 'crowd') this.#gather(arrival)
    else if (trouble === 'pause' && first) this.#pause(arrival)
    else if (trouble === 'kill' && first) void this.#kill(arrival)
    else if (trouble === 'bystander' && first) void this.#measure(arrival)
    else arrival.go()
  }

  noted = (actor: Arrival['actor'], note: unknown): void => {
    const { kind } = note as CounterNote
    if (kind !== 'sawLast') {
      this.#moves += 1
      return
    }
    this.#sawLast.add(actor.number)
    this.#waiting = this.#waiting.filter((arrival) => {
      if (arrival.actor.number === actor.number) return true
      arrival.go()
      return false
    })
  }

  /** Continues when another process has seen the last item as well. */
  #gather(arrival: Arrival): void {
    if ([...this.#sawLast].some((number) => number !== arrival.actor.number)) {
      arrival.go()
      return
    }
    this.#waiting.push(arrival)
    setTimeout(() => arrival.go(), COMPANY_MS).unref()
  }

  #pause({ actor, go }: Arrival): void {
    actor.pause()
    setTimeout(() => {
      actor.resume()
      go()
    }, TTLS * this.#settings.ttlMs)
  }

  async #kill({ actor }: Arrival): Promise<void> {
    await actor.kill()
    setTimeout(() => this.#watchStandstill(this.#moves), TTLS * this.#settings.ttlMs)
  }

  /**
   * Buyers past the lock still finish. When nothing moves for the time of a TTL, it never will.
   */
  #watchStandstill(before: number): void {
    const timer = setTimeout(() => {
      if (this.#moves !== before) {
        this.#watchStandstill(this.#moves)
        return
      }
      this.driven.stuck = true
      this.#settings.giveUp()
    }, this.#settings.ttlMs)
    timer.unref()
  }

  async #measure({ go }: Arrival): Promise<void> {
    const startMs = performance.now()
    await Promise.race([
      this.#settings.bystander(),
      new Promise((resolve) => void setTimeout(resolve, this.#settings.ttlMs)),
    ])
    this.driven.bystanderMs = performance.now() - startMs
    go()
  }
}

export function driveTrouble(strategy: Strategy, settings: TroubleSettings): Trouble {
  return new Driver(strategy, settings)
}
