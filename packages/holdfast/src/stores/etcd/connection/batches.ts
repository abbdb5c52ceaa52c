/**
 * Transactions that were asked for in one tick travel in one: etcd agrees on it
 * once, however many it holds.
 *
 * etcd judges the conditions of all transactions inside a transaction before any of them changes
 * something, and everything made in one has the same revision. So there is at most one for each
 * lock, and none of them can tell that it has company. When etcd refuses all for the sake of one of
 * them, each is asked for alone.
 */
import { TickQueue } from '../../../collections/tick-queue.js'
import type { Connection } from './connection.js'
import { isRefusal, isTooLarge } from '../errors.js'
import { METHODS, op, readTxn, txn, type TxnAnswer } from '../wire/messages.js'

/**
 * etcd takes 128 operations in a transaction by default, those of the longest one inside it
 * included.
 */
const MOST = 100
/** Far below the 1.5 MiB that etcd takes. */
const MOST_BYTES = 256 * 1024

interface QueuedTransaction {
  readonly lock: string
  readonly body: Buffer
  /** Whether it may be done twice. */
  readonly repeatable: boolean
  readonly resolve: (answer: TxnAnswer) => void
  readonly reject: (error: unknown) => void
}

export class Batches {
  readonly #connection: Connection
  readonly #queue = new TickQueue<QueuedTransaction>((queued) => this.#sendAll(queued))
  #most = MOST

  constructor(connection: Connection) {
    this.#connection = connection
  }

  run(lock: string, body: Buffer, repeatable: boolean): Promise<TxnAnswer> {
    return new Promise((resolve, reject) =>
      this.#queue.add({ lock, body, repeatable, resolve, reject }),
    )
  }

  /** Sends the transactions of a tick. Those of one lock leave in the order of the calls. */
  #sendAll(queued: readonly QueuedTransaction[]): void {
    let batch: QueuedTransaction[] = []
    const locks = new Set<string>()
    let bytes = 0
    for (const one of queued) {
      const fits = batch.length < this.#most && bytes + one.body.length <= MOST_BYTES
      if (batch.length > 0 && (!fits || locks.has(one.lock))) {
        void this.#send(batch)
        batch = []
        locks.clear()
        bytes = 0
      }
      batch.push(one)
      locks.add(one.lock)
      bytes += one.body.length
    }
    void this.#send(batch)
  }

  async #send(queued: readonly QueuedTransaction[]): Promise<void> {
    const [first] = queued
    if (!first) return
    if (queued.length === 1) return this.#sendAlone(first)
    const body = txn({ when: [], then: queued.map((one) => op.txn(one.body)) })
    const repeatable = queued.every((one) => one.repeatable)
    try {
      const { revision, answers } = readTxn(
        await this.#connection.request(METHODS.txn, body, { repeatable }),
      )
      for (const [index, { resolve, reject }] of queued.entries()) {
        const inner = answers[index]?.inner
        if (inner) resolve({ ...inner, revision })
        else reject(new Error('etcd left out a part of its answer.'))
      }
    } catch (error) {
      this.#separate(queued, error)
    }
  }

  #separate(queued: readonly QueuedTransaction[], error: unknown): void {
    if (isTooLarge(error)) this.#most = 1
    const refused = isRefusal(error)
    for (const one of queued) {
      if (refused || (one.repeatable && queued.some(({ repeatable }) => !repeatable)))
        void this.#sendAlone(one)
      else one.reject(error)
    }
  }

  async #sendAlone({ body, repeatable, resolve, reject }: QueuedTransaction): Promise<void> {
    try {
      resolve(readTxn(await this.#connection.request(METHODS.txn, body, { repeatable })))
    } catch (error) {
      reject(error)
    }
  }
}
