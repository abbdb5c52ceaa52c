/**
 * All watches of a client on one stream.
 *
 * A watch begins at the revision after a look, so nothing is missed however late the stream is. Whatever ends a watch, be it
 * an event, a compaction, a lost leader or a broken connection, ends in the same call: somebody should look again.
 */
import type { Call, Connection } from './connection.js'
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
  #call: Call | undefined
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
    if (this.#call) this.#call.write(watchRequest(target))
    else void this.#open()
    return () => this.#remove(target.id)
  }

  close(): void {
    clearTimeout(this.#linger)
    this.#watchers.clear()
    this.#call?.cancel()
    this.#call = undefined
  }

  async #open(): Promise<void> {
    if (this.#opening) return
    this.#opening = true
    try {
      const { call, failed } = await this.#connection.stream(METHODS.watch)
      call.on('data', (bytes: Buffer) => this.#take(bytes))
      // An error is followed by an end in some cases and not in others: the first of them counts.
      call.on('error', () => {
        failed()
        this.#broken(call)
      })
      call.on('end', () => this.#broken(call))
      this.#call = call
      for (const { target } of this.#watchers.values()) call.write(watchRequest(target))
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
    if (!canceled) this.#call?.write(cancelRequest(id))
    this.#endIfIdle()
  }

  /** An open stream keeps the process alive, so it is ended when it is of no use. */
  #endIfIdle(): void {
    clearTimeout(this.#linger)
    if (this.#watchers.size > 0) return
    this.#linger = setTimeout(() => {
      const call = this.#call
      this.#call = undefined
      call?.cancel()
    }, LINGER_MS)
  }

  #broken(call: Call): void {
    if (this.#call !== call) return
    this.#call = undefined
    this.#tellAll()
  }

  #tellAll(): void {
    const watchers = [...this.#watchers.values()]
    this.#watchers.clear()
    for (const { changed } of watchers) changed()
  }
}
