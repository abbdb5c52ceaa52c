/**
 * The watches of one client of a service like etcd, all on one stream. Events may be late, and none
 * is missed: when the stream breaks, each waiter looks again.
 */
import type { Process } from '../../world/process.js'
import type { Link } from '../../world/link.js'
import type { Dice } from '@holdfast/workload'
import type { KeyChange } from '../queues.js'
import type { CoordinationServer } from '../server.js'

interface Watcher {
  readonly lock: string
  readonly key: string
  /** The revision up to which nothing has changed. */
  readonly moment: bigint
  readonly onlyGone: boolean
  readonly changed: () => void
}

/** A stream on which something got lost breaks within this time, in milliseconds. */
const STALLED_MS = 400

export class WatchStream {
  readonly #server: CoordinationServer
  readonly #process: Process
  readonly #link: Link
  readonly #dice: Dice
  readonly #watchers = new Set<Watcher>()
  /** The watches that the server has of the present stream. */
  #known = new Set<Watcher>()

  constructor(server: CoordinationServer, process: Process, link: Link, dice: Dice) {
    this.#server = server
    this.#process = process
    this.#link = link
    this.#dice = dice
    server.listeners.add((lock, changes) => this.#publish(lock, changes))
    server.crashListeners.add(() => {
      const known = this.#known
      link.reply(0, () => process.receive(() => this.#broken(known)))
    })
  }

  /** Calls back once, when the key changed after the moment or can no longer be seen. */
  add(watcher: Watcher): () => void {
    this.#watchers.add(watcher)
    const known = this.#known
    const arrives = this.#link.requestOnce(0, () => {
      if (this.#server.host.down) this.#refuse(known)
      else this.#server.host.receive(() => this.#begin(known, watcher))
    })
    if (!arrives) this.#stall(known)
    return () => {
      this.#watchers.delete(watcher)
      known.delete(watcher)
    }
  }

  reset(): void {
    const known = this.#known
    this.#process.receive(() => this.#broken(known))
  }

  /** The server begins a watch. What changed since the read before it is an event. */
  #begin(known: Set<Watcher>, watcher: Watcher): void {
    known.add(watcher)
    const { lock, key, onlyGone, moment } = watcher
    const found = this.#server.entryAt(lock, key)
    if (!found || (onlyGone ? found.number : found.version) > moment) this.#send(known, watcher)
  }

  #publish(lock: string, changes: readonly KeyChange[]): void {
    for (const watcher of this.#known) {
      const { key, onlyGone } = watcher
      const isMeant = (change: KeyChange): boolean =>
        change.key === key && (change.isGone || !onlyGone)
      if (watcher.lock === lock && changes.some(isMeant)) this.#send(this.#known, watcher)
    }
  }

  #send(known: Set<Watcher>, watcher: Watcher): void {
    const arrives = this.#link.wake(() =>
      this.#process.receive(() => {
        if (this.#known === known) this.#notify(watcher)
      }),
    )
    if (!arrives) this.#stall(known)
  }

  #refuse(known: Set<Watcher>): void {
    this.#link.reply(0, () => this.#process.receive(() => this.#broken(known)))
  }

  #stall(known: Set<Watcher>): void {
    this.#process.timer(this.#dice.between(0, STALLED_MS), () => this.#broken(known))
  }

  #broken(known: Set<Watcher>): void {
    if (this.#known !== known) return
    this.#known = new Set()
    for (const watcher of [...this.#watchers]) this.#notify(watcher)
  }

  #notify(watcher: Watcher): void {
    this.#known.delete(watcher)
    if (this.#watchers.delete(watcher)) watcher.changed()
  }
}
