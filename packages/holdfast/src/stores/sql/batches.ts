/**
 * The queue of one process in front of the database: what is asked in one turn of the event loop
 * travels together, and while a few statements are under way the rest gathers for the next one. So
 * a busy process uses few connections of the caller's pool, and one commit serves many.
 *
 * Withdrawals go first, since they make room. The order of requests does not matter for safety: a
 * withdrawn claim stays refused. It matters for fairness: statements that are under way together
 * may overtake each other, so a new claim leaves when the ones before it for the same lock were
 * answered. Heartbeats of waiters do not wait for anything.
 */
import { isLockError, storeClosed, StoreUnavailableError, type LockError } from '../../errors.js'
import type { Database } from './database.js'
import type { Answer, Request } from './requests.js'

/** So many requests share a statement at most. */
const LARGEST_BATCH = 128

interface Item {
  readonly request: Request
  /** Requests with the same one reach the database in the order in which they were made. */
  readonly lane: string | undefined
  resolve(answer: Answer): void
  reject(error: unknown): void
}

export class Batches {
  readonly #database: Database
  #queue: Item[] = []
  #underWay = 0
  /** Those of the batches that have no answer yet. */
  readonly #lanes = new Set<string>()
  #scheduled = false
  #closed = false
  readonly #onTurnEnd = (): void => {
    this.#scheduled = false
    const batch = this.#take()
    // Without a batch all that is left is held back, until an answer comes.
    if (batch.length === 0) return
    this.#send(batch)
    this.#schedule()
  }

  constructor(database: Database) {
    this.#database = database
  }

  /**
   * @param lane the request leaves when all earlier ones with the same lane were answered, or
   * together with them
   */
  do(request: Request, lane?: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#closed) reject(this.#closedError())
      else {
        this.#queue.push({ request, lane, resolve, reject })
        this.#schedule()
      }
    })
  }

  /** Ends what has not been sent. What has been is answered yet. */
  close(): void {
    this.#closed = true
    for (const item of this.#queue.splice(0)) item.reject(this.#closedError())
  }

  #schedule(): void {
    if (this.#scheduled || this.#underWay >= this.#database.statements || this.#queue.length === 0)
      return
    this.#scheduled = true
    // After the promises that are settled in this turn have had their say: they may have more to
    // ask.
    process.nextTick(this.#onTurnEnd)
  }

  #take(): Item[] {
    const queue = this.#queue
    if (queue.length > 1) {
      const first = queue.filter(({ request }) => request.verb === 'withdraw')
      if (first.length > 0) {
        this.#queue = [...first, ...queue.filter(({ request }) => request.verb !== 'withdraw')]
      }
    }
    if (this.#lanes.size === 0) return this.#queue.splice(0, LARGEST_BATCH)
    const batch: Item[] = []
    const rest: Item[] = []
    for (const item of this.#queue) {
      const isHeldBack = item.lane !== undefined && this.#lanes.has(item.lane)
      if (isHeldBack || batch.length === LARGEST_BATCH) rest.push(item)
      else batch.push(item)
    }
    this.#queue = rest
    return batch
  }

  #send(batch: readonly Item[]): void {
    const lanes = new Set(batch.flatMap(({ lane }) => lane ?? []))
    for (const lane of lanes) this.#lanes.add(lane)
    this.#underWay += 1
    void this.#settle(batch).then(() => {
      for (const lane of lanes) this.#lanes.delete(lane)
      this.#underWay -= 1
      this.#schedule()
    })
  }

  /** Never rejects. */
  #settle(batch: readonly Item[]): Promise<void> {
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

  /**
   * One request that the database cannot read must not fail the others, which had nothing to do
   * with it.
   */
  async #fail(batch: readonly Item[], error: unknown): Promise<void> {
    if (batch.length > 1 && isLockError(error) && error.code === 'LOCK_USAGE') {
      for (const item of batch) await this.#settle([item])
    } else for (const item of batch) item.reject(error)
  }

  #noAnswer(): StoreUnavailableError {
    return new StoreUnavailableError(
      'The functions in the database did not answer as they should.',
      {
        code: 'STORE_CONFIG',
        store: this.#database.name,
      },
    )
  }

  #closedError(): LockError {
    const { name } = this.#database
    return storeClosed(name, name)
  }
}
