/**
 * Transactions that were asked for in one turn of the event loop travel in one: etcd agrees on it once, however many it holds.
 *
 * etcd judges the conditions of all transactions inside a transaction before any of them changes something, and everything
 * made in one has the same revision. So there is at most one for each lock, and none of them can tell that it has company. When
 * etcd refuses all for the sake of one of them, each is asked for alone.
 */
import type { Connection } from './connection.js'
import { isRefusal, isTooLarge } from './failures.js'
import { METHODS, op, readTxn, txn, type TxnAnswer } from './messages.js'

/** etcd takes 128 operations in a transaction by default, those of the longest one inside it included. */
const MOST = 100
/** Far below the 1.5 MiB that etcd takes. */
const MOST_BYTES = 256 * 1024

interface Asked {
  readonly lock: string
  readonly body: Buffer
  /** Whether it may be done twice. */
  readonly repeatable: boolean
  readonly resolve: (answer: TxnAnswer) => void
  readonly reject: (error: unknown) => void
}

interface Batch {
  readonly asked: Map<string, Asked>
  bytes: number
}

export class Batches {
  readonly #connection: Connection
  #batches: Batch[] = []
  #most = MOST

  constructor(connection: Connection) {
    this.#connection = connection
  }

  run(lock: string, body: Buffer, repeatable: boolean): Promise<TxnAnswer> {
    return new Promise((resolve, reject) => {
      // Runs when all that the present turn brought is done, promises included.
      if (this.#batches.length === 0) process.nextTick(() => this.#flush())
      const batch = this.#batchFor(lock, body)
      batch.asked.set(lock, { lock, body, repeatable, resolve, reject })
      batch.bytes += body.length
    })
  }

  /** What concerns one lock goes out in the order in which it was asked for. */
  #batchFor(lock: string, body: Buffer): Batch {
    const last = this.#batches.at(-1)
    const fits = last && last.asked.size < this.#most && last.bytes + body.length <= MOST_BYTES
    if (last && fits && !last.asked.has(lock)) return last
    const batch = { asked: new Map<string, Asked>(), bytes: 0 }
    this.#batches.push(batch)
    return batch
  }

  #flush(): void {
    const batches = this.#batches
    this.#batches = []
    for (const { asked } of batches) void this.#send([...asked.values()])
  }

  async #send(asked: readonly Asked[]): Promise<void> {
    const [first] = asked
    if (!first) return
    if (asked.length === 1) return this.#sendAlone(first)
    const body = txn({ when: [], then: asked.map((one) => op.txn(one.body)) })
    const repeatable = asked.every((one) => one.repeatable)
    try {
      const { revision, answers } = readTxn(await this.#connection.request(METHODS.txn, body, { repeatable }))
      for (const [index, { resolve, reject }] of asked.entries()) {
        const inner = answers[index]?.inner
        if (inner) resolve({ ...inner, revision })
        else reject(new Error('etcd left out a part of its answer.'))
      }
    } catch (error) {
      this.#separate(asked, error)
    }
  }

  #separate(asked: readonly Asked[], error: unknown): void {
    if (isTooLarge(error)) this.#most = 1
    const refused = isRefusal(error)
    for (const one of asked) {
      if (refused || (one.repeatable && asked.some(({ repeatable }) => !repeatable)))
        void this.#sendAlone(one)
      else one.reject(error)
    }
  }

  async #sendAlone({ body, repeatable, resolve, reject }: Asked): Promise<void> {
    try {
      resolve(readTxn(await this.#connection.request(METHODS.txn, body, { repeatable })))
    } catch (error) {
      reject(error)
    }
  }
}
