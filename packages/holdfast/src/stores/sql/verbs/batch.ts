/**
 * Requests that travel in one statement. They gather until the pool has lent a connection for it.
 *
 * A `run` that does not await its release resolves when the release has a connection, or with the
 * turn of the event loop. A process that exits can still send what has a connection. The statement
 * leaves later in the same turn, so that the next attempt travels with the release.
 */
import type { Clock } from '../../../clock/clock.js'
import { PendingAnswer } from '../../../store/pending-answer.js'
import { areRequestsTraced, traceRequest } from '../../../store/request-channel.js'
import type { Batch } from '../connection/database.js'
import type { Answer, Answers, Request } from '../wire.js'

/**
 * Requests join for this long, in milliseconds. The time limit of the statement counts from the
 * first of them.
 */
const JOINS_WITHIN_MS = 20

/** A request on its way. Its answer is what `read` returns of the answer of the database. */
export class AskedRequest<T> extends PendingAnswer<T> {
  // The constructor sets every field. A field that is only declared costs no initialiser.
  declare readonly request: Request
  /** New claims for one lock reach the database in the order in which they were made. */
  declare readonly newClaimFor: string | undefined
  /** Requests count up in the order in which they were made. */
  declare readonly number: number
  /** What it travels in. */
  declare batch: GatheringBatch | undefined
  /** Called when it has a connection, or its answer. */
  declare onLent: (() => void) | undefined
  /** Whether its caller has given up: it must not be sent after that. */
  declare isGivenUp: boolean
  /** Whether it was answered without the database. */
  declare isLeftOut: boolean
  declare private readonly read: (answer: Answer) => T

  constructor(
    request: Request,
    read: (answer: Answer) => T,
    newClaimFor: string | undefined,
    number: number,
  ) {
    super()
    this.number = number
    this.request = request
    this.newClaimFor = newClaimFor
    this.batch = this.onLent = undefined
    this.isGivenUp = this.isLeftOut = false
    this.read = read
  }

  /** It has a connection, or will have none. */
  lent(): void {
    const { onLent } = this
    this.onLent = undefined
    onLent?.()
  }

  resolve(answer: Answer): void {
    this.lent()
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
    this.lent()
    this.fail(error)
  }

  /** Answers an attempt whose caller has given up, and which was not sent. */
  leaveOut(): void {
    this.isLeftOut = true
    // Later, since its listener may make further requests in the middle of this call.
    queueMicrotask(() => this.resolve({ outcome: 'withdrawn' }))
  }
}

/** A request with an answer of any type. */
export type QueuedRequest = Pick<
  AskedRequest<unknown>,
  | 'request'
  | 'newClaimFor'
  | 'number'
  | 'batch'
  | 'onLent'
  | 'isGivenUp'
  | 'isLeftOut'
  | 'lent'
  | 'resolve'
  | 'reject'
  | 'leaveOut'
>

/** What a batch needs of the queue that it came from. */
export interface BatchOwner {
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** Adds the requests that may join the batch. */
  admit(batch: GatheringBatch): void
  /** The batch has a connection, and waits for those that the ends of `run` make. */
  waits(batch: GatheringBatch): void
  /** Withdrawals, then renewals, then the others. */
  sorted(items: readonly QueuedRequest[]): readonly QueuedRequest[]
  answered(batch: GatheringBatch, answers: Answers): void
  failed(batch: GatheringBatch, reason: unknown): void
}

export class GatheringBatch implements Batch {
  items: readonly QueuedRequest[] = []
  requests: readonly Request[] = []
  isAtExit = false
  /** Whether an earlier try may have reached the database. */
  isInDoubt = false
  readonly #owner: BatchOwner
  readonly #sinceMs: number
  #mayGrow = false
  #hasLeft = false
  #isOver = false
  #send: (() => void) | undefined

  constructor(owner: BatchOwner) {
    this.#owner = owner
    this.#sinceMs = owner.clock.monotonicMs()
  }

  leave(send: () => void): void {
    if (this.#hasLeft) {
      this.#close()
      return send()
    }
    this.#mayGrow = this.#owner.clock.monotonicMs() - this.#sinceMs <= JOINS_WITHIN_MS
    if (this.#mayGrow) this.#owner.admit(this)
    if (!this.#tellReleases()) return this.#go(send)
    this.#send = send
    this.#owner.waits(this)
  }

  /** Sends the batch if it waits with its connection. */
  leaveNow(isAtExit = false): void {
    const send = this.#send
    if (!send) return
    this.#send = undefined
    this.isAtExit = isAtExit
    // An attempt would take a lock for a process that has gone.
    if (isAtExit) this.items = this.items.filter(({ request }) => request.verb === 'withdraw')
    else if (this.#mayGrow) this.#owner.admit(this)
    try {
      this.#go(send)
    } catch (error) {
      this.fail(error)
    }
  }

  unheard(): void {
    this.isInDoubt = true
  }

  answer(answers: Answers): void {
    if (this.#ends()) this.#owner.answered(this, answers)
  }

  fail(reason: unknown): void {
    this.#send = undefined
    if (this.#ends()) this.#owner.failed(this, reason)
  }

  /** What could not be sent times out too. */
  #ends(): boolean {
    const isFirst = !this.#isOver
    this.#isOver = true
    return isFirst
  }

  /** Returns whether there is a release whose `run` ends now. */
  #tellReleases(): boolean {
    let isAny = false
    for (const item of this.items) {
      if (!item.onLent) continue
      isAny = true
      item.lent()
    }
    return isAny
  }

  #go(send: () => void): void {
    this.#close()
    if (areRequestsTraced()) traceRequest(claimIdsOf(this.requests), send)
    else send()
  }

  #close(): void {
    this.#hasLeft = true
    if (this.items.length > 1) this.items = this.#owner.sorted(this.items)
    const requests: Request[] = []
    for (const item of this.items) {
      if (item.isGivenUp && !item.isLeftOut) item.leaveOut()
      if (!item.isLeftOut) requests.push(item.request)
    }
    this.requests = requests
  }
}

function claimIdsOf(requests: readonly Request[]): string[] {
  return requests.flatMap(({ id }) => (typeof id === 'string' ? [id] : []))
}
