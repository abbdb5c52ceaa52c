/**
 * The queue of one process in front of the database: the operations of one tick become one
 * transaction. While another process writes, the queue waits without holding up the event loop.
 *
 * The order is kept: an operation never runs before an earlier one on the same claim. So an attempt
 * cannot be overtaken by its own withdrawal. Otherwise withdrawals go first, since they make room.
 */
import { systemRandom } from '../../../clock/clock.js'
import { StoreUnavailableError, type LockError } from '../../../errors.js'
import { TickQueue } from '../../../collections/tick-queue.js'
import { storeClosed } from '../../../store/errors.js'
import { placeOf } from '../folder/beside-folder.js'
import type { DatabaseFile } from '../folder/state-folder.js'
import { shownIn } from '../folder/unusable.js'
import { resultCode, type Database } from './engine.js'
import { isOfEarlierBoot } from './forgetting.js'
import { noteGone, OtherBoot, type MayLive } from './other-boot.js'
import type { Layout } from './layout.js'
import { writerOf } from './database-writer.js'
import type { Machine } from '../folder/machine.js'
import { explain, isBusy } from './errors.js'
import { inodeOf, openDatabase, type OpenedDatabase } from './schema.js'
import {
  inOrder,
  LockCache,
  prepare,
  Transaction,
  type Operation,
  type Promotion,
  type QueuedOperation,
  type Statements,
} from './transaction.js'

/** The largest number of operations in one transaction. */
const LARGEST_BATCH = 128
/**
 * An operation is given up when it has found the database locked for this long. It has not been
 * done and never will be.
 */
const GIVE_UP_AFTER_MS = 4000
/** How often the file is looked at, in case another process replaced it. */
const LOOK_AT_FILE_MS = 250
/**
 * So often to look at once whether a busy database is free again, for about the time of a
 * transaction or two. A file that is busy for longer has a writer without a processor, and more
 * tries keep it waiting for one.
 */
const EAGER_TRIES = 8

export class TransactionQueue {
  readonly #file: DatabaseFile
  readonly #layout: Layout
  readonly #machine: Machine
  readonly #onPromotions: (promotions: readonly Promotion[]) => void
  /** The operations of this tick. */
  readonly #tick = new TickQueue<QueuedOperation>((items) => this.#take(items), queueMicrotask)
  /** Those that were not done yet. */
  readonly #queue: QueuedOperation[] = []
  readonly #cache = new LockCache()
  #opened: OpenedDatabase | undefined
  #statements: Statements | undefined
  /** The database was locked, and is tried again soon. */
  #isRetrying = false
  #tries = 0
  #lookedMs = 0
  #closed = false
  readonly #mayLive: MayLive
  /** The processes of an earlier boot that are gone. */
  readonly #gone = new Set<string>()
  /**
   * Counts how often the database was opened. A store writes its rows again after a change.
   */
  generation = 0

  constructor(
    file: DatabaseFile,
    layout: Layout,
    machine: Machine,
    onPromotions: (promotions: readonly Promotion[]) => void,
    mayLive: MayLive,
  ) {
    this.#mayLive = mayLive
    this.#file = file
    this.#layout = layout
    this.#machine = machine
    this.#onPromotions = onPromotions
  }

  /** Runs the work in a transaction, together with the other operations of this tick. */
  do<R>(operation: Operation<R>): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      if (this.#closed) {
        reject(closedError())
        return
      }
      let result: { readonly value: R } | { readonly error: unknown }
      this.#tick.add({
        claimId: operation.claimId,
        first: operation.first ?? false,
        sinceMs: this.#machine.monotonicMs(),
        run: (transaction) => {
          try {
            result = { value: operation.work(transaction) }
          } catch (error) {
            // The engine may have rolled back what the others of this tick did: then all fail
            // together.
            if (resultCode(error) !== undefined || error instanceof OtherBoot) throw error
            result = { error }
          }
        },
        settle: (error) => {
          if (error !== undefined) reject(error)
          else if ('error' in result) reject(result.error)
          else resolve(result.value)
        },
      })
    })
  }

  /**
   * Reads without the file's write lock, so that a process that stopped while it writes does not
   * block it. What `work` changes is not written back.
   * @throws StoreUnavailableError when the file cannot be read for four seconds.
   */
  async read<R>(work: (transaction: Transaction) => R): Promise<R> {
    const giveUpMs = this.#machine.monotonicMs() + GIVE_UP_AFTER_MS
    for (;;) {
      if (this.#closed) throw closedError()
      try {
        return this.#readOnce(work)
      } catch (error) {
        if (error instanceof OtherBoot) {
          await this.#noteGone(error)
          continue
        }
        if (!isBusy(error)) throw explain(error, this.#file, this.#file.database)
        if (this.#machine.monotonicMs() > giveUpMs) throw this.#tooBusy()
      }
      await this.#pause(1 + systemRandom.next() * 8)
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#machine.timer(ms, resolve))
  }

  #readOnce<R>(work: (transaction: Transaction) => R): R {
    const { opened, statements } = this.#open()
    opened.db.exec('BEGIN')
    try {
      // A cache of its own: what the rule changes here has not happened.
      return work(new Transaction(opened.db, statements, new LockCache(), this.#machine))
    } finally {
      opened.db.exec('ROLLBACK')
    }
  }

  /** Opens the database if it is not open, and returns what was found. */
  ready(): Promise<OpenedDatabase> {
    return this.read(() => this.#open().opened)
  }

  /** Lets the next transaction look whether the file was replaced. */
  lookAgain(): void {
    this.#lookedMs = -Infinity
  }

  /** Ends what is queued and closes the file. */
  close(): void {
    this.#closed = true
    this.#tick.flush()
    for (const item of this.#queue.splice(0)) item.settle(closedError())
    this.#discard()
  }

  #take(items: readonly QueuedOperation[]): void {
    for (const item of items) this.#queue.push(item)
    if (!this.#isRetrying) this.#drain()
  }

  #drain(): void {
    if (this.#queue.length === 0 || this.#closed || this.#isRetrying) return
    this.#runBatch()
    if (this.#queue.length > 0) queueMicrotask(() => this.#drain())
  }

  #runBatch(): void {
    const batch = inOrder(this.#queue.splice(0, LARGEST_BATCH))
    let begun = false
    try {
      const { db, statements } = this.#begin()
      begun = true
      this.#tries = 0
      const transaction = new Transaction(db, statements, this.#cache, this.#machine)
      for (const item of batch) item.run(transaction)
      transaction.write()
      statements.commit.run()
      for (const item of batch) item.settle()
      if (transaction.promotions.length > 0) this.#onPromotions(transaction.promotions)
    } catch (error) {
      if (begun) this.#undo()
      if (error instanceof OtherBoot) this.#retryAfter(error, batch)
      else if (isBusy(error) || this.#hasMoved()) this.#retry(batch)
      else this.#fail(batch, error)
    }
  }

  #begin(): { readonly db: Database; readonly statements: Statements } {
    const nowMs = this.#machine.monotonicMs()
    if (this.#opened && nowMs - this.#lookedMs > LOOK_AT_FILE_MS) {
      this.#lookedMs = nowMs
      if (inodeOf(this.#file.database) !== this.#opened.inode) this.#discard()
    }
    const { opened, statements } = this.#open()
    statements.begin.run()
    return { db: opened.db, statements }
  }

  /** Whether the folder has another path since the database was opened. */
  #hasMoved(): boolean {
    return this.#opened !== undefined && placeOf(this.#file) !== this.#opened.place
  }

  #open(): { readonly opened: OpenedDatabase; readonly statements: Statements } {
    if (this.#hasMoved()) this.#discard()
    if (!this.#opened || !this.#statements) {
      this.#layout.check()
      const opened = openDatabase(this.#file, this.#machine, this.#gone)
      this.#opened = opened
      this.#statements = prepare(opened.db)
      this.#lookedMs = this.#machine.monotonicMs()
      this.generation += 1
    }
    return { opened: this.#opened, statements: this.#statements }
  }

  #undo(): void {
    this.#cache.clear()
    try {
      this.#statements?.rollback.run()
    } catch {
      // The engine has rolled back already, as it does when the disk is full.
    }
  }

  /**
   * The database is locked: nothing of the batch was done. It goes back to the head of the queue,
   * and waits a moment.
   */
  #retry(batch: readonly QueuedOperation[]): void {
    const nowMs = this.#machine.monotonicMs()
    const waiting: QueuedOperation[] = []
    for (const item of batch) {
      if (nowMs - item.sinceMs < GIVE_UP_AFTER_MS) waiting.push(item)
      else item.settle(this.#tooBusy())
    }
    this.#queue.unshift(...waiting)
    if (this.#queue.length === 0) return
    this.#isRetrying = true
    this.#tries += 1
    const drain = (): void => {
      this.#isRetrying = false
      this.#drain()
    }
    // Another process writes for a hundred microseconds or so: look again at once, then less and
    // less eagerly.
    if (this.#tries <= EAGER_TRIES) setImmediate(drain)
    else this.#machine.timer(1 + systemRandom.next() * Math.min(8, this.#tries / 2), drain)
  }

  /** @throws OtherBoot when processes of another boot have taken the file over. */
  assertOwnBoot(db: Database): void {
    if (isOfEarlierBoot(db, this.#machine)) throw new OtherBoot([])
  }

  #noteGone(found: OtherBoot): Promise<void> {
    // The next opening looks at the file again.
    this.#discard()
    return noteGone(found, this.#file, this.#gone, this.#mayLive)
  }

  /** Tries again when it is known that the processes of the other boot are gone. */
  #retryAfter(found: OtherBoot, batch: readonly QueuedOperation[]): void {
    this.#queue.unshift(...batch)
    this.#isRetrying = true
    this.#noteGone(found).then(
      () => {
        this.#isRetrying = false
        this.#drain()
      },
      (refusal: unknown) => {
        this.#isRetrying = false
        for (const item of this.#queue.splice(0)) item.settle(refusal)
      },
    )
  }

  #tooBusy(): StoreUnavailableError {
    const locker = writerOf(this.#file.database)
    const advice = locker
      ? `It is process ${locker.pid} (${locker.command}), which ${locker.stopped ? 'is stopped' : 'is running'}: ` +
        `${locker.stopped ? `continue it (kill -CONT ${locker.pid}) or end it` : 'wait for it, or end it'}.`
      : 'Try again.'
    return new StoreUnavailableError(
      `Another process kept ${shownIn(this.#file, this.#file.database)} locked for ${GIVE_UP_AFTER_MS} ms. Nothing was changed. ${advice}`,
      { store: 'embedded' },
    )
  }

  #fail(batch: readonly QueuedOperation[], error: unknown): void {
    const explained = explain(error, this.#file, this.#file.database)
    // A full disk or a damaged file may be mended from outside: the next operation opens the file
    // again.
    this.#discard()
    for (const item of batch) item.settle(explained)
  }

  #discard(): void {
    try {
      this.#opened?.db.close()
    } catch {
      // It is not used any more.
    }
    this.#opened = undefined
    this.#statements = undefined
  }
}

function closedError(): LockError {
  return storeClosed('embedded')
}
