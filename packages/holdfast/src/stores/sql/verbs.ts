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
import { outsideContext } from '../../async/async-context.js'
import { atTickEndOf } from '../../clock/clock.js'
import { TickQueue } from '../../collections/tick-queue.js'
import { withdrawalsFirst } from '../../collections/withdrawals-first.js'
import { isLockError, StoreUnavailableError, type LockError } from '../../errors.js'
import { PendingAnswer } from '../../store/pending-answer.js'
import { areRequestsTraced, traceRequest } from '../../store/request-channel.js'
import { storeClosed } from '../../store/errors.js'
import type { Database } from './connection/database.js'
import type { Answer, Answers, Request } from './wire.js'

/** A request on its way. Its answer is what `read` returns of the answer of the database. */
class AskedRequest<T> extends PendingAnswer<T> {
  // The constructor sets every field. A field that is only declared costs no initialiser.
  declare readonly request: Request
  /** New claims for one lock reach the database in the order in which they were made. */
  declare readonly newClaimFor: string | undefined
  declare private readonly read: (answer: Answer) => T

  constructor(request: Request, read: (answer: Answer) => T, newClaimFor: string | undefined) {
    super()
    this.request = request
    this.newClaimFor = newClaimFor
    this.read = read
  }

  resolve(answer: Answer): void {
    let value: T
    try {
      value = this.read(answer)
    } catch (error) {
      this.fail(error)
      return
    }
    this.answer(value)
  }

  reject(error: unknown): void {
    this.fail(error)
  }
}

/** A request with an answer of any type. */
type QueuedRequest = Pick<AskedRequest<unknown>, 'request' | 'newClaimFor' | 'resolve' | 'reject'>

/** Withdrawals, then renewals, then the others. */
function byUrgency(queue: readonly QueuedRequest[]): readonly QueuedRequest[] {
  const renewalsFirst = withdrawalsFirst(queue, ({ request }) => request.verb === 'renew')
  return withdrawalsFirst(renewalsFirst, ({ request }) => request.verb === 'withdraw')
}

export class Batches {
  readonly #database: Database
  readonly #onPoolClosed: () => void
  readonly #atTickEnd: (work: () => void) => void
  /** The requests of this tick. */
  readonly #tick: TickQueue<QueuedRequest>
  /** Those of earlier ticks that were not sent. */
  #queue: QueuedRequest[] = []
  #inFlight = 0
  /** The locks of new claims without an answer yet. */
  readonly #unansweredLocks = new Set<string>()
  #closed = false

  /** @param onPoolClosed called when a request finds that the caller has closed the pool */
  constructor(database: Database, onPoolClosed: () => void) {
    this.#database = database
    this.#onPoolClosed = onPoolClosed
    this.#atTickEnd = atTickEndOf(database.clock)
    this.#tick = new TickQueue((requests) => this.#take(requests), this.#atTickEnd)
  }

  /**
   * Sends a request with the others of this tick. Its answer is what `read` returns.
   * @param newClaimFor the lock of a new claim: the request is sent after all earlier claims for it
   * were answered, or together with them
   */
  send<T>(request: Request, read: (answer: Answer) => T, newClaimFor?: string): PendingAnswer<T> {
    const asked = new AskedRequest(request, read, newClaimFor)
    if (this.#closed) asked.reject(this.#closedError())
    else this.#tick.add(asked)
    return asked
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
    for (const { newClaimFor } of batch)
      if (newClaimFor !== undefined) this.#unansweredLocks.add(newClaimFor)
    this.#inFlight += 1
    const answers = areRequestsTraced()
      ? traceRequest(claimIdsOf(batch), () => this.#run(batch))
      : this.#run(batch)
    // The answers belong to several callers, so their listeners run in the context of none.
    outsideContext(() => {
      answers.then(
        (answered) => {
          this.#answer(batch, answered)
          this.#ended(batch)
        },
        (error: unknown) => {
          void this.#fail(batch, error).then(() => this.#ended(batch))
        },
      )
    })
  }

  /** Callers that were answered may make further requests in this tick. */
  #ended(batch: readonly QueuedRequest[]): void {
    for (const { newClaimFor } of batch)
      if (newClaimFor !== undefined) this.#unansweredLocks.delete(newClaimFor)
    this.#inFlight -= 1
    this.#atTickEnd(this.#sendNext)
  }

  /** One function for all batches, and none for each. */
  readonly #sendNext = (): void => {
    this.#tick.flush()
    this.#sendWaiting()
  }

  #run(batch: readonly QueuedRequest[]): Promise<Answers> {
    const requests: Request[] = []
    for (const { request } of batch) requests.push(request)
    try {
      return this.#database.run(requests)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #answer(batch: readonly QueuedRequest[], answers: Answers): void {
    let index = 0
    for (const item of batch) {
      const answer = answers[index++]
      if (answer) item.resolve(answer)
      else item.reject(this.#noAnswer())
    }
  }

  /** Sends requests one by one if the database cannot read one of them, so the others succeed. */
  async #fail(batch: readonly QueuedRequest[], error: unknown): Promise<void> {
    if (isLockError(error) && error.code === 'LOCKS_CLOSED') this.#onPoolClosed()
    if (batch.length > 1 && isLockError(error) && error.code === 'LOCK_USAGE') {
      for (const item of batch) {
        await this.#run([item]).then(
          (answers) => this.#answer([item], answers),
          (reason: unknown) => this.#fail([item], reason),
        )
      }
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

function claimIdsOf(batch: readonly QueuedRequest[]): string[] {
  return batch.flatMap(({ request: { id } }) => (typeof id === 'string' ? [id] : []))
}
