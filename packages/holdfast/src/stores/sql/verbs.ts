/**
 * Batches the requests of one process. Requests of one tick travel together. While a few statements
 * are in flight, the others gather for the next one. So a busy process uses few connections of the
 * caller's pool, and one commit serves many requests.
 *
 * Withdrawals go first, since they make room, and renewals before attempts, however many claims
 * wait. The order of requests does not matter for safety: a
 * withdrawn claim stays refused. It matters for fairness, since statements that are in flight
 * together may overtake each other. So a new claim is sent after the earlier ones for the same lock
 * were answered. Heartbeats of waiters never wait.
 */
import { atTickEndOf } from '../../clock/clock.js'
import { TickQueue } from '../../collections/tick-queue.js'
import { withdrawalsFirst } from '../../collections/withdrawals-first.js'
import { isLockError, StoreUnavailableError, type LockError } from '../../errors.js'
import { areRequestsTraced, traceRequest } from '../../store/request-channel.js'
import { storeClosed } from '../../store/errors.js'
import type { Database } from './connection/database.js'
import type { Answer, Request } from './wire.js'

interface QueuedRequest {
  readonly request: Request
  /** New claims for one lock reach the database in the order in which they were made. */
  readonly newClaimFor: string | undefined
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/** Withdrawals, then renewals, then the others. */
function byUrgency(queue: readonly QueuedRequest[]): readonly QueuedRequest[] {
  const renewalsFirst = withdrawalsFirst(queue, ({ request }) => request.verb === 'renew')
  return withdrawalsFirst(renewalsFirst, ({ request }) => request.verb === 'withdraw')
}

export class Batches {
  readonly #database: Database
  readonly #atTickEnd: (work: () => void) => void
  /** The requests of this tick. */
  readonly #tick: TickQueue<QueuedRequest>
  /** Those of earlier ticks that were not sent. */
  #queue: QueuedRequest[] = []
  #inFlight = 0
  /** The locks of new claims without an answer yet. */
  readonly #unansweredLocks = new Set<string>()
  #closed = false

  constructor(database: Database) {
    this.#database = database
    this.#atTickEnd = atTickEndOf(database.clock)
    this.#tick = new TickQueue((requests) => this.#take(requests), this.#atTickEnd)
  }

  /**
   * Resolves to the answer to a request.
   * @param newClaimFor the lock of a new claim: the request is sent after all earlier claims for it
   * were answered, or together with them
   */
  send(request: Request, newClaimFor?: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#closed) reject(this.#closedError())
      else this.#tick.add({ request, newClaimFor, resolve, reject })
    })
  }

  /** Rejects the requests that were not sent. Those that were sent are still answered. */
  close(): void {
    this.#closed = true
    this.#tick.flush()
    for (const item of this.#queue.splice(0)) item.reject(this.#closedError())
  }

  #take(requests: readonly QueuedRequest[]): void {
    for (const request of requests) this.#queue.push(request)
    if (!this.#closed) this.#sendWaiting()
  }

  #sendWaiting(): void {
    while (this.#queue.length > 0 && this.#inFlight < this.#database.maxStatements) {
      const batch = this.#takeBatch()
      // Only new claims are left, which wait for answers to earlier ones.
      if (batch.length === 0) return
      this.#sendBatch(batch)
    }
  }

  #takeBatch(): QueuedRequest[] {
    if (this.#queue.length > 1) this.#queue = [...byUrgency(this.#queue)]
    if (this.#unansweredLocks.size === 0) return this.#queue.splice(0, this.#database.largestBatch)
    const batch: QueuedRequest[] = []
    const rest: QueuedRequest[] = []
    for (const item of this.#queue) {
      const { newClaimFor: lock } = item
      const isHeldBack = lock !== undefined && this.#unansweredLocks.has(lock)
      if (isHeldBack || batch.length === this.#database.largestBatch) rest.push(item)
      else batch.push(item)
    }
    this.#queue = rest
    return batch
  }

  #sendBatch(batch: readonly QueuedRequest[]): void {
    const locks = new Set(batch.flatMap(({ newClaimFor }) => newClaimFor ?? []))
    for (const lock of locks) this.#unansweredLocks.add(lock)
    this.#inFlight += 1
    void this.#runTraced(batch).then(() => {
      for (const lock of locks) this.#unansweredLocks.delete(lock)
      this.#inFlight -= 1
      // Callers that were answered may make further requests in this tick.
      this.#atTickEnd(() => {
        this.#tick.flush()
        this.#sendWaiting()
      })
    })
  }

  #runTraced(batch: readonly QueuedRequest[]): Promise<void> {
    if (!areRequestsTraced()) return this.#run(batch)
    const claimIds = batch.flatMap(({ request: { id } }) => (typeof id === 'string' ? [id] : []))
    return traceRequest(claimIds, () => this.#run(batch))
  }

  /** Never rejects. */
  #run(batch: readonly QueuedRequest[]): Promise<void> {
    return this.#database.run(batch.map(({ request }) => request)).then(
      (answers) => {
        batch.forEach((item, index) => {
          const answer = answers[index]
          if (answer) item.resolve(answer)
          else item.reject(this.#noAnswer())
        })
      },
      (error: unknown) => this.#fail(batch, error),
    )
  }

  /** Sends requests one by one if the database cannot read one of them, so the others succeed. */
  async #fail(batch: readonly QueuedRequest[], error: unknown): Promise<void> {
    if (batch.length > 1 && isLockError(error) && error.code === 'LOCK_USAGE') {
      for (const item of batch) await this.#run([item])
    } else for (const item of batch) item.reject(error)
  }

  #noAnswer(): StoreUnavailableError {
    return new StoreUnavailableError(
      'The routines in the database did not answer every request. Run holdfast migrate --store URL.',
      {
        code: 'STORE_CONFIG',
        store: this.#database.name,
      },
    )
  }

  #closedError(): LockError {
    return storeClosed(this.#database.name)
  }
}
