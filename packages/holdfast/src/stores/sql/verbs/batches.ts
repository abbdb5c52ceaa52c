/**
 * Batches the requests of one process. Requests of one tick travel together. While a few statements
 * are in flight, the others gather for the next one. So a busy process uses few connections of the
 * caller's pool, and one commit serves many requests.
 *
 * Withdrawals go first, since they make room, and renewals before attempts, however many claims
 * wait. The order of requests does not matter for safety: a
 * withdrawn claim stays refused. It matters for fairness, since statements that are in flight
 * together may overtake each other. So a new claim is sent after the earlier ones for the same lock
 * were answered, and after a release for which no `run` waits. Heartbeats of waiters never wait.
 */
import { outsideContext } from '../../../async/async-context.js'
import { atTickEndOf, type Clock } from '../../../clock/clock.js'
import { TickQueue } from '../../../collections/tick-queue.js'
import { withdrawalsFirst } from '../../../collections/withdrawals-first.js'
import { isLockError, StoreUnavailableError, type LockError } from '../../../errors.js'
import type { PendingAnswer } from '../../../store/pending-answer.js'
import type { ClaimRef } from '../../../store/contract.js'
import { storeClosed } from '../../../store/errors.js'
import { AskedRequest, GatheringBatch, type BatchOwner, type QueuedRequest } from './batch.js'
import type { Batch, Database } from '../connection/database.js'
import { isRetake, type Answer, type Answers, type Request } from '../wire.js'

/** Withdrawals, then renewals, then the others. */
function byUrgency(queue: readonly QueuedRequest[]): readonly QueuedRequest[] {
  const renewalsFirst = withdrawalsFirst(queue, ({ request }) => request.verb === 'renew')
  return withdrawalsFirst(renewalsFirst, ({ request }) => request.verb === 'withdraw')
}

export class Batches implements BatchOwner {
  readonly clock: Clock
  readonly sorted = byUrgency
  readonly #database: Database
  readonly #onPoolClosed: () => void
  readonly #atTickEnd: (work: () => void) => void
  /** The requests of this tick. */
  readonly #tick: TickQueue<QueuedRequest>
  /** Those of earlier ticks that were not sent. */
  #queue: QueuedRequest[] = []
  #inFlight = 0
  #made = 0
  /** What carries the new claims without an answer yet, by lock. */
  readonly #newClaims = new Map<string, GatheringBatch>()
  /** The releases for which no `run` waits, without an answer yet, by lock. */
  readonly #openReleases = new Map<string, QueuedRequest[]>()
  /** Batches that have a connection, and leave in this turn. */
  readonly #leaving = new Set<GatheringBatch>()
  #newestRelease: QueuedRequest | undefined
  #isAdmitting = false
  #closed = false

  /** @param onPoolClosed called when a request finds that the caller has closed the pool */
  constructor(database: Database, onPoolClosed: () => void) {
    this.clock = database.clock
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
    const asked = new AskedRequest(request, read, newClaimFor, (this.#made += 1))
    if (this.#closed) asked.reject(this.#closedError())
    else {
      if (request.verb === 'withdraw') this.#newestRelease = asked
      this.#tick.add(asked)
    }
    return asked
  }

  /**
   * Notes that no `run` waits for the newest release, if it is of this lock. Later claims for the
   * lock reach the database behind it. The promise resolves when it has a connection, or with the
   * turn of the event loop. Undefined if it has left, and for a pool that lends none.
   */
  noteOpenRelease(lock: string): Promise<void> | undefined {
    const release = this.#newestRelease
    if (release?.request.lock !== lock || release.batch || this.#closed) return undefined
    // The next caller has a release of its own, or none.
    this.#newestRelease = undefined
    const open = this.#openReleases.get(lock)
    if (open) open.push(release)
    else this.#openReleases.set(lock, [release])
    if (!this.#database.lends) return undefined
    return new Promise((resolve) => {
      // The program may return the connections that it has when the run has ended.
      const turn = setImmediate(() => release.lent())
      release.onLent = () => {
        clearImmediate(turn)
        resolve()
      }
    })
  }

  /**
   * Notes that the caller of a new claim has given up. Its withdrawal is remembered for a TTL only.
   * So an attempt that is held back, or would be repeated, is not sent after it any more.
   */
  giveUp({ lock, id }: ClaimRef): void {
    const isIt = ({ request }: QueuedRequest): boolean =>
      request.verb === 'attempt' && request.lock === lock && request.id === id
    this.#collect()
    const sent = this.#newClaims.get(lock)?.items.find(isIt)
    if (sent) sent.isGivenUp = true
    const at = this.#queue.findIndex(isIt)
    if (at >= 0) this.#queue.splice(at, 1)[0]?.leaveOut()
  }

  /** Sends what has a connection, as the process may exit before the tick ends. */
  flush(): void {
    for (const batch of this.#leaving) batch.leaveNow(true)
    this.#leaving.clear()
  }

  /** Rejects the requests that were not sent. Those that were sent are still answered. */
  close(): void {
    this.#closed = true
    this.#tick.flush()
    for (const item of this.#queue.splice(0)) item.reject(this.#closedError())
  }

  #take(requests: readonly QueuedRequest[]): void {
    for (const request of requests) this.#queue.push(request)
    if (!this.#closed && !this.#isAdmitting) this.#sendWaiting()
  }

  #sendWaiting(): void {
    while (this.#queue.length > 0 && this.#leaving.size === 0) {
      if (this.#inFlight >= this.#database.maxStatements) return
      const batch = new GatheringBatch(this)
      this.#gather(batch)
      // Only new claims are left, which wait for answers to earlier requests.
      if (batch.items.length === 0) return
      this.#inFlight += 1
      this.#run(batch)
    }
  }

  admit(batch: GatheringBatch): void {
    this.#gather(batch)
    // What is too much for it needs another one.
    if (this.#queue.length > 0) this.#atTickEnd(this.#sendNext)
  }

  /** Takes the requests of this tick into the queue. Nothing is sent. */
  #collect(): void {
    this.#isAdmitting = true
    this.#tick.flush()
    this.#isAdmitting = false
  }

  #gather(batch: GatheringBatch): void {
    this.#collect()
    if (this.#queue.length === 0) return
    const queue = this.#queue.length === 1 ? this.#queue : byUrgency(this.#queue)
    const joining = [...batch.items]
    const rest: QueuedRequest[] = []
    for (const item of queue) {
      if (this.#isFull(joining) || this.#isHeldBack(item, joining, batch)) {
        rest.push(item)
        continue
      }
      item.batch = batch
      if (item.newClaimFor !== undefined) this.#newClaims.set(item.newClaimFor, batch)
      joining.push(item)
    }
    batch.items = joining
    this.#queue = rest
  }

  /** A release and the next claim for its lock travel alone: there is a short way for them. */
  #isFull(joining: readonly QueuedRequest[]): boolean {
    if (joining.length === 2 && isRetake(requestsOf(joining))) return true
    return joining.length === this.#database.largestBatch
  }

  #isHeldBack(
    { newClaimFor: lock, request, number }: QueuedRequest,
    joining: readonly QueuedRequest[],
    batch: GatheringBatch,
  ): boolean {
    if (lock === undefined) return false
    const earlier = this.#newClaims.get(lock)
    if (earlier && earlier !== batch) return true
    const releases = this.#openReleases.get(lock)?.filter((release) => release.number < number)
    if (releases === undefined || releases.length === 0) return false
    const [release] = joining
    const isAlone = joining.length === 1 && releases.length === 1 && releases[0] === release
    return !isAlone || !isRetake([...requestsOf(joining), request])
  }

  /** The next attempts come in the microtasks that follow. */
  waits(batch: GatheringBatch): void {
    this.#leaving.add(batch)
    queueMicrotask(() =>
      this.#atTickEnd(() => {
        if (!this.#leaving.delete(batch)) return
        batch.leaveNow()
        this.#sendWaiting()
      }),
    )
  }

  /** The answers belong to several callers, so their listeners run in the context of none. */
  answered(batch: GatheringBatch, answers: Answers): void {
    outsideContext(() => {
      this.#answer(batch, answers)
      this.#ended(batch)
    })
  }

  failed(batch: GatheringBatch, reason: unknown): void {
    outsideContext(() => void this.#fail(batch.items, reason).then(() => this.#ended(batch)))
  }

  /** The next statement carries what the callers ask for that were answered. */
  #ended(batch: GatheringBatch): void {
    this.#leaving.delete(batch)
    for (const { newClaimFor, request } of batch.items) {
      if (newClaimFor !== undefined && this.#newClaims.get(newClaimFor) === batch)
        this.#newClaims.delete(newClaimFor)
      if (this.#openReleases.size > 0) this.#forgetReleases(request.lock, batch)
    }
    this.#inFlight -= 1
    queueMicrotask(this.#sendAfterCallers)
  }

  #forgetReleases(lock: string, batch: GatheringBatch): void {
    const releases = this.#openReleases.get(lock)?.filter((release) => release.batch !== batch)
    if (releases?.length === 0) this.#openReleases.delete(lock)
    else if (releases) this.#openReleases.set(lock, releases)
  }

  /** The answers may have come in a callback of the library, before the promises of callers. */
  readonly #sendAfterCallers = (): void => this.#atTickEnd(this.#sendNext)

  /** One function for all batches, and none for each. */
  readonly #sendNext = (): void => {
    this.#tick.flush()
    this.#sendWaiting()
  }

  #run(batch: Batch): void {
    try {
      this.#database.run(batch)
    } catch (error) {
      batch.fail(error)
    }
  }

  #answer({ items, isInDoubt }: AnsweredBatch, answers: Answers): void {
    let index = 0
    for (const item of items) {
      if (item.isLeftOut) continue
      const answer = answers[index++]
      if (answer) item.resolve(isInDoubt ? afterDoubt(item.request, answer) : answer)
      else item.reject(this.#noAnswer())
    }
  }

  /** Sends requests one by one if the database cannot read one of them, so the others succeed. */
  async #fail(all: readonly QueuedRequest[], error: unknown): Promise<void> {
    const items = all.filter(({ isLeftOut }) => !isLeftOut)
    if (isLockError(error) && error.code === 'LOCKS_CLOSED') this.#onPoolClosed()
    if (items.length > 1 && isLockError(error) && error.code === 'LOCK_USAGE') {
      for (const item of items) {
        if (item.isGivenUp) item.leaveOut()
        else await this.#sendApart(item)
      }
    } else for (const item of items) item.reject(error)
  }

  /** Nothing joins it, as the others are sent apart too. */
  #sendApart(item: QueuedRequest): Promise<void> {
    return new Promise((resolve) => {
      const batch = new GatheringBatch({
        clock: this.clock,
        sorted: this.sorted,
        admit: () => undefined,
        waits: (ready) => ready.leaveNow(),
        answered: (answered, answers) => {
          this.#answer(answered, answers)
          resolve()
        },
        failed: ({ items }, reason) => void this.#fail(items, reason).then(resolve),
      })
      batch.items = [item]
      this.#run(batch)
    })
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

type AnsweredBatch = Pick<GatheringBatch, 'items' | 'isInDoubt'>

/**
 * A first try whose connection ended may have done its work. The database may then have forgotten
 * the release, so it cannot say whether the lease had ended before.
 */
function afterDoubt({ verb }: Request, answer: Answer): Answer {
  const isUnknown = verb === 'withdraw' && answer['outcome'] === 'absent'
  return isUnknown ? { outcome: 'unknown' } : answer
}

function requestsOf(items: readonly QueuedRequest[]): Request[] {
  return items.map(({ request }) => request)
}
