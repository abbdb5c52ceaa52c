/**
 * Attempts of one client for one lock, sent in the order of the calls.
 *
 * Requests that are in flight at the same time may reach a service in any order. Attempts of one
 * queue of the runtime may travel together: the earliest caller of the queue gets its first grant,
 * for any of its claims. An attempt of another queue leaves when the attempts before it were
 * answered.
 *
 * An attempt that finds no store is sent again later. The attempts that queue behind it fail with
 * it: if they left now, they would overtake it. The runtime sends all of them again, in order.
 *
 * Claims that can be held side by side leave one by one. A caller may take over an earlier claim
 * only if that claim certainly waited when the caller came. Where a service keeps the order of one
 * session's requests, they travel together after the first answer "waiting". The service grants no
 * later claim before that one.
 */
import { isLockError } from '../errors.js'
import type { AttemptOptions, AttemptResult, Claim } from './contract.js'

/**
 * The largest number of attempts in flight for one lock. A flooded service answers none of them in
 * time.
 */
const MOST_IN_FLIGHT = 128

interface LockAttempts {
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
  readonly reject: (error: unknown) => void
}

/** Attempts that do not queue need no order: each takes a free lock or leaves. */
const NOT_QUEUED = {}

export class AttemptOrder {
  readonly #locks = new Map<string, LockAttempts>()
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
    const attempts = this.#attemptsFor(lock)
    const queue = enqueue ? its : NOT_QUEUED
    const wantsAll = weight >= capacity || !enqueue
    const ordered = (): Promise<AttemptResult> =>
      enqueue ? failingTogether(attempts, attempt) : attempt()
    return new Promise((resolve, reject) => {
      const start = (): void => void this.#start(lock, attempts, ordered).then(resolve, reject)
      attempts.waiting.push({ queue, wantsAll, start, reject })
      if (attempts.waiting.length === 1) this.#startNext(lock, attempts)
    })
  }

  #attemptsFor(lock: string): LockAttempts {
    let attempts = this.#locks.get(lock)
    if (!attempts)
      this.#locks.set(
        lock,
        (attempts = { queue: undefined, inFlight: 0, waits: false, waiting: [] }),
      )
    return attempts
  }

  async #start(
    lock: string,
    attempts: LockAttempts,
    attempt: () => Promise<AttemptResult>,
  ): Promise<AttemptResult> {
    attempts.inFlight += 1
    try {
      const result = await attempt()
      attempts.waits = this.#keepsOrder && result.outcome === 'waiting'
      return result
    } finally {
      attempts.inFlight -= 1
      this.#startNext(lock, attempts)
    }
  }

  #startNext(lock: string, attempts: LockAttempts): void {
    for (
      let next = attempts.waiting[0];
      next && mayStart(attempts, next);
      next = attempts.waiting[0]
    ) {
      attempts.queue = next.queue
      attempts.waiting.shift()
      next.start()
    }
    if (attempts.inFlight === 0 && attempts.waiting.length === 0) this.#locks.delete(lock)
  }
}

/** Attempts. If that finds no store, the attempts that queue behind this one fail as well. */
async function failingTogether(
  attempts: LockAttempts,
  attempt: () => Promise<AttemptResult>,
): Promise<AttemptResult> {
  try {
    return await attempt()
  } catch (error) {
    if (!isLockError(error) || error.code !== 'STORE_UNAVAILABLE') throw error
    const behind = attempts.waiting.splice(0)
    for (const one of behind) {
      if (one.queue === NOT_QUEUED) attempts.waiting.push(one)
      else one.reject(error)
    }
    throw error
  }
}

function mayStart({ queue, inFlight, waits }: LockAttempts, next: Waiting): boolean {
  if (inFlight === 0) return true
  const isSame = next.queue !== undefined && next.queue === queue
  return isSame && inFlight < MOST_IN_FLIGHT && (next.wantsAll || waits)
}
