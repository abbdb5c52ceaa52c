/**
 * All watches of a client on one stream.
 *
 * A watch begins when etcd reports it. If etcd has a newer revision than the read before the watch,
 * the client reads the key once more. Then nothing is missed, however late the stream is. (A watch
 * from the revision of the read would need no second read. But etcd serves watches that begin in
 * the past only from time to time. Events would come up to a tenth of a second late.) An event, a
 * compaction, a lost leader and a broken connection all end a watch in the same call: the waiter
 * looks again.
 */
import type { Timer } from '../../clock/clock.js'
import { TickQueue } from '../../collections/tick-queue.js'
import type { Stream } from './connection/channel.js'
import type { Connection } from './connection/connection.js'
import {
  cancelRequest,
  METHODS,
  op,
  readTxn,
  readWatch,
  txn,
  watchRequest,
  type WatchTarget,
} from './wire/messages.js'

/**
 * The stream is kept for a moment after the last watch: the next waiter is likely to come
 * soon.
 */
const LINGER_MS = 500

interface Watcher {
  readonly target: WatchTarget
  /** The revision up to which nothing has changed. */
  readonly moment: bigint
  readonly changed: () => void
}

/** etcd takes 128 operations in a transaction by default. */
const READ_AT_ONCE = 100

export class Watches {
  readonly #connection: Connection
  readonly #watchers = new Map<number, Watcher>()
  #ids = 0
  /** Watchers that have begun, and may have missed something before. */
  readonly #behind = new TickQueue<Watcher>((behind) => this.#readAgain(behind))
  #stream: Stream | undefined
  #opening = false
  #linger: Timer | undefined

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Calls back once, when a key changed after the moment or when that can no longer be seen. */
  add(key: string, moment: bigint, deletesOnly: boolean, changed: () => void): () => void {
    this.#ids += 1
    const target = { id: this.#ids, key, deletesOnly }
    this.#watchers.set(target.id, { target, moment, changed })
    this.#linger?.cancel()
    if (this.#stream) this.#stream.send(watchRequest(target))
    else void this.#open()
    return () => this.#remove(target.id)
  }

  close(): void {
    this.#linger?.cancel()
    this.#watchers.clear()
    this.#stream?.cancel()
    this.#stream = undefined
  }

  async #open(): Promise<void> {
    if (this.#opening) return
    this.#opening = true
    try {
      const stream = await this.#connection.stream(METHODS.watch, {
        message: (bytes) => this.#take(bytes),
        // Never before the next tick.
        over: () => this.#broken(stream),
      })
      this.#stream = stream
      for (const { target } of this.#watchers.values()) stream.send(watchRequest(target))
      this.#endIfIdle()
    } catch {
      this.#notifyAll()
    } finally {
      this.#opening = false
    }
  }

  #take(bytes: Buffer): void {
    const { id, created, revision, canceled, happened } = readWatch(bytes)
    // One of the watches was refused: etcd need not say which. The stream has the login with which
    // it began, and that may have ended.
    if (created && canceled) return this.#replace()
    const watcher = this.#watchers.get(id)
    if (!watcher) return
    if (canceled || happened) this.#notify(watcher, canceled)
    else if (created && revision > watcher.moment) this.#behind.add(watcher)
  }

  #notify(watcher: Watcher, canceled = false): void {
    this.#remove(watcher.target.id, canceled)
    watcher.changed()
  }

  #readAgain(behind: readonly Watcher[]): void {
    for (let from = 0; from < behind.length; from += READ_AT_ONCE) {
      void this.#read(behind.slice(from, from + READ_AT_ONCE))
    }
  }

  async #read(behind: readonly Watcher[]): Promise<void> {
    const reads = behind.map(({ target }) => op.range(target.key, { keysOnly: true }))
    try {
      const body = txn({ when: [], then: reads })
      const { answers } = readTxn(
        await this.#connection.request(METHODS.txn, body, { repeatable: true }),
      )
      for (const [index, watcher] of behind.entries()) {
        const found = answers[index]?.found[0]
        const { deletesOnly, id } = watcher.target
        const changed =
          !found || (deletesOnly ? found.createRevision : found.modRevision) > watcher.moment
        if (changed && this.#watchers.has(id)) this.#notify(watcher)
      }
    } catch {
      // The waiters look again, and learn what is wrong.
      for (const watcher of behind) if (this.#watchers.has(watcher.target.id)) this.#notify(watcher)
    }
  }

  #remove(id: number, canceled = false): void {
    if (!this.#watchers.delete(id)) return
    if (!canceled) this.#stream?.send(cancelRequest(id))
    this.#endIfIdle()
  }

  /** An open stream keeps the process alive, so it is ended when it is of no use. */
  #endIfIdle(): void {
    this.#linger?.cancel()
    if (this.#watchers.size > 0) return
    this.#linger = this.#connection.clock.timer(LINGER_MS, () => {
      const stream = this.#stream
      this.#stream = undefined
      stream?.cancel()
    })
  }

  /**
   * The waiters look again, with a new login where that is needed, and watches over another
   * stream.
   */
  #replace(): void {
    this.#stream?.cancel()
    this.#stream = undefined
    this.#notifyAll()
  }

  #broken(stream: Stream): void {
    if (this.#stream !== stream) return
    this.#stream = undefined
    this.#notifyAll()
  }

  #notifyAll(): void {
    const watchers = [...this.#watchers.values()]
    this.#watchers.clear()
    for (const { changed } of watchers) changed()
  }
}
