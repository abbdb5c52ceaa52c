/**
 * All watches of a client on one stream.
 *
 * A watch begins at the revision after a look, so nothing is missed however late the stream is. Whatever ends a watch, be it
 * an event, a compaction, a lost leader or a broken connection, ends in the same call: somebody should look again.
 */
import type { Stream } from './channel.js'
import type { Connection } from './connection.js'
import { cancelRequest, METHODS, readWatch, watchRequest, type WatchTarget } from './messages.js'

/** The stream is kept for a moment when nobody watches any more: the next waiter is likely to come soon. */
const LINGER_MS = 500

interface Watcher {
  readonly target: WatchTarget
  readonly changed: () => void
}

export class Watches {
  readonly #connection: Connection
  readonly #watchers = new Map<number, Watcher>()
  #ids = 0
  #stream: Stream | undefined
  #opening = false
  #linger: NodeJS.Timeout | undefined

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Calls back once, when a key changed or when that can no longer be seen. */
  add(key: string, startRevision: bigint, deletesOnly: boolean, changed: () => void): () => void {
    this.#ids += 1
    const target = { id: this.#ids, key, startRevision, deletesOnly }
    this.#watchers.set(target.id, { target, changed })
    clearTimeout(this.#linger)
    if (this.#stream) this.#stream.send(watchRequest(target))
    else void this.#open()
    return () => this.#remove(target.id)
  }

  close(): void {
    clearTimeout(this.#linger)
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
        // Never before the next turn of the event loop.
        over: () => this.#broken(stream),
      })
      this.#stream = stream
      for (const { target } of this.#watchers.values()) stream.send(watchRequest(target))
      this.#endIfIdle()
    } catch {
      this.#tellAll()
    } finally {
      this.#opening = false
    }
  }

  #take(bytes: Buffer): void {
    const { id, canceled, happened } = readWatch(bytes)
    if (!canceled && !happened) return
    const watcher = this.#watchers.get(id)
    if (!watcher) return
    this.#remove(id, canceled)
    watcher.changed()
  }

  #remove(id: number, canceled = false): void {
    if (!this.#watchers.delete(id)) return
    if (!canceled) this.#stream?.send(cancelRequest(id))
    this.#endIfIdle()
  }

  /** An open stream keeps the process alive, so it is ended when it is of no use. */
  #endIfIdle(): void {
    clearTimeout(this.#linger)
    if (this.#watchers.size > 0) return
    this.#linger = setTimeout(() => {
      const stream = this.#stream
      this.#stream = undefined
      stream?.cancel()
    }, LINGER_MS)
  }

  #broken(stream: Stream): void {
    if (this.#stream !== stream) return
    this.#stream = undefined
    this.#tellAll()
  }

  #tellAll(): void {
    const watchers = [...this.#watchers.values()]
    this.#watchers.clear()
    for (const { changed } of watchers) changed()
  }
}
