/**
 * The queue of one process in front of the database: what is asked in one turn of the event loop travels together, and
 * while a few statements are under way the rest gathers for the next one. So a busy process uses few connections of the
 * caller's pool, and one commit serves many.
 *
 * Withdrawals go first, since they make room. The order of requests does not matter for safety: a withdrawn claim stays
 * refused.
 */
import { isLockError, storeClosed, StoreUnavailableError, type LockError } from '../../errors.js'
import type { Database } from './database.js'
import type { Answer, Request } from './requests.js'

/** So many requests share a statement at most. */
const LARGEST_BATCH = 128

interface Item {
  readonly request: Request
  resolve(answer: Answer): void
  reject(error: unknown): void
}

export class Batches {
  readonly #database: Database
  #queue: Item[] = []
  #underWay = 0
  #scheduled = false
  #closed = false
  readonly #onTurnEnd = (): void => {
    this.#scheduled = false
    const batch = this.#take()
    if (batch.length > 0) this.#send(batch)
    this.#schedule()
  }

  constructor(database: Database) {
    this.#database = database
  }

  do(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#closed) reject(this.#closedError())
      else {
        this.#queue.push({ request, resolve, reject })
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
    if (this.#scheduled || this.#underWay >= this.#database.statements || this.#queue.length === 0) return
    this.#scheduled = true
    // After the promises that are settled in this turn have had their say: they may have more to ask.
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
    return this.#queue.splice(0, LARGEST_BATCH)
  }

  #send(batch: readonly Item[]): void {
    this.#underWay += 1
    void this.#settle(batch).then(() => {
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

  /** One request that the database cannot read must not fail the others, which had nothing to do with it. */
  async #fail(batch: readonly Item[], error: unknown): Promise<void> {
    if (batch.length > 1 && isLockError(error) && error.code === 'LOCK_USAGE') {
      for (const item of batch) await this.#settle([item])
    } else for (const item of batch) item.reject(error)
  }

  #noAnswer(): StoreUnavailableError {
    return new StoreUnavailableError('The functions in the database did not answer as they should.', {
      code: 'STORE_CONFIG',
      store: this.#database.name,
    })
  }

  #closedError(): LockError {
    const { name } = this.#database
    return storeClosed(name, name)
  }
}
