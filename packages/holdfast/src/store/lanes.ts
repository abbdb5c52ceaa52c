/**
 * Attempts of one client for one lock, sent in the order of the calls.
 *
 * Requests that are under way at the same time may reach a service in any order. Attempts of one
 * queue of the runtime may: its earliest caller gets its first grant, whichever claim is granted
 * first. So they travel together. An attempt of another queue leaves when those before it were
 * answered.
 *
 * Claims that can be held side by side have one limit: a caller takes over the claim of an earlier
 * one only if that one certainly waited when the caller came. So they leave one by one. A service
 * that keeps the order of what one session sends lets them travel together as soon as an answer was
 * "waiting": the ones behind it are not granted before it.
 */
import type { AttemptOptions, AttemptResult, Claim } from './contract.js'

/**
 * How many attempts for one lock are under way at most: a service that is flooded answers none of
 * them in time.
 */
const MOST_UNDER_WAY = 128

interface Lane {
  queue: object | undefined
  underWay: number
  /**
   * The attempts behind the last one that was answered are handled in the order in which they
   * leave, and are not granted before it.
   */
  waits: boolean
  readonly waiting: Waiting[]
}

interface Waiting {
  readonly queue: object | undefined
  readonly wantsAll: boolean
  readonly start: () => void
}

/** Attempts that do not queue take what is free, or leave: they need no order among themselves. */
const NOT_QUEUED = {}

export class Lanes {
  readonly #lanes = new Map<string, Lane>()
  readonly #keepsOrder: boolean

  /**
   * @param keepsOrder whether the service handles the attempts that wait in the order in which they
   * were sent
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
      this.#lanes.set(lock, (lane = { queue: undefined, underWay: 0, waits: false, waiting: [] }))
    return lane
  }

  async #start(
    lock: string,
    lane: Lane,
    attempt: () => Promise<AttemptResult>,
  ): Promise<AttemptResult> {
    lane.underWay += 1
    try {
      const result = await attempt()
      lane.waits = this.#keepsOrder && result.outcome === 'waiting'
      return result
    } finally {
      lane.underWay -= 1
      this.#goOn(lock, lane)
    }
  }

  #goOn(lock: string, lane: Lane): void {
    for (let next = lane.waiting[0]; next && mayStart(lane, next); next = lane.waiting[0]) {
      lane.queue = next.queue
      lane.waiting.shift()
      next.start()
    }
    if (lane.underWay === 0 && lane.waiting.length === 0) this.#lanes.delete(lock)
  }
}

function mayStart({ queue, underWay, waits }: Lane, next: Waiting): boolean {
  if (underWay === 0) return true
  const isSame = next.queue !== undefined && next.queue === queue
  return isSame && underWay < MOST_UNDER_WAY && (next.wantsAll || waits)
}
