/**
 * Attempts of one client for one lock, sent in the order of the calls.
 *
 * Requests that are in flight at the same time may reach a service in any order. Attempts of one
 * queue of the runtime may travel together: the earliest caller of the queue gets its first grant,
 * for any of its claims. An attempt of another queue leaves when the attempts before it were
 * answered.
 *
 * Claims that can be held side by side leave one by one: a caller may take over an earlier claim
 * only if that claim certainly waited when the caller came. Where a service keeps the order of one
 * session's requests, they travel together after the first answer "waiting": it grants no later
 * claim before that one.
 */
import type { AttemptOptions, AttemptResult, Claim } from './contract.js'

/**
 * The largest number of attempts in flight for one lock. A flooded service answers none of them in
 * time.
 */
const MOST_IN_FLIGHT = 128

interface Lane {
  queue: object | undefined
  inFlight: number
  /** The last answer was "waiting", from a service that keeps the order of attempts. */
  waits: boolean
  readonly waiting: Waiting[]
}

interface Waiting {
  readonly queue: object | undefined
  readonly wantsAll: boolean
  readonly start: () => void
}

/** Attempts that do not queue need no order: each takes a free lock or leaves. */
const NOT_QUEUED = {}

export class Lanes {
  readonly #lanes = new Map<string, Lane>()
  readonly #keepsOrder: boolean

  /**
   * @param keepsOrder whether the service handles waiting attempts in the order of their sending
   */
  constructor(keepsOrder: boolean) {
    this.#keepsOrder = keepsOrder
  }

  run(
    { lock, weight, capacity }: Claim,
    { enqueue, queue: its }: AttemptOptions,
    attempt: () => Promise<AttemptResult>,
  ): Promise<AttemptResult> {
    const lane = this.#laneOf(lock)
    const queue = enqueue ? its : NOT_QUEUED
    const wantsAll = weight >= capacity || !enqueue
    return new Promise((resolve, reject) => {
      const start = (): void => void this.#start(lock, lane, attempt).then(resolve, reject)
      lane.waiting.push({ queue, wantsAll, start })
      if (lane.waiting.length === 1) this.#goOn(lock, lane)
    })
  }

  #laneOf(lock: string): Lane {
    let lane = this.#lanes.get(lock)
    if (!lane)
      this.#lanes.set(lock, (lane = { queue: undefined, inFlight: 0, waits: false, waiting: [] }))
    return lane
  }

  async #start(
    lock: string,
    lane: Lane,
    attempt: () => Promise<AttemptResult>,
  ): Promise<AttemptResult> {
    lane.inFlight += 1
    try {
      const result = await attempt()
      lane.waits = this.#keepsOrder && result.outcome === 'waiting'
      return result
    } finally {
      lane.inFlight -= 1
      this.#goOn(lock, lane)
    }
  }

  #goOn(lock: string, lane: Lane): void {
    for (let next = lane.waiting[0]; next && mayStart(lane, next); next = lane.waiting[0]) {
      lane.queue = next.queue
      lane.waiting.shift()
      next.start()
    }
    if (lane.inFlight === 0 && lane.waiting.length === 0) this.#lanes.delete(lock)
  }
}

function mayStart({ queue, inFlight, waits }: Lane, next: Waiting): boolean {
  if (inFlight === 0) return true
  const isSame = next.queue !== undefined && next.queue === queue
  return isSame && inFlight < MOST_IN_FLIGHT && (next.wantsAll || waits)
}
