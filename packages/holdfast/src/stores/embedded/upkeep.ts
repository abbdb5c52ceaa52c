/**
 * Upkeep of the folder: the sockets and rows of processes that ended without closing, and locks that nobody uses any more.
 *
 * Every store does a little of it, after its first lock and apart from it: no lock waits for it. What is left is done by
 * those that come later.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { systemRandom } from '../../clock/clock.js'
import type { Place } from './directory.js'
import { forgetSomeIdle, ROUND_MS } from './forgetting.js'
import { inodeOf, type StationAddress } from './link.js'
import type { Machine } from './machine.js'
import { SOCKET_SUFFIX, type Station } from './station.js'
import type { Transactions } from './transactions.js'

/** So many sockets are looked at, in one go. */
const LOOK_AT_SOCKETS = 16
/** Between two portions of idle locks, in which others write. */
const PAUSE_MS = 50

export class Upkeep {
  readonly #place: Place
  readonly #machine: Machine
  readonly #transactions: Transactions
  readonly #station: Station
  readonly #bury: (dead: StationAddress) => Promise<void>
  #burying: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false

  /** @param bury ends the claims of a dead station, then takes away its row, which may be gone, and its socket */
  constructor(
    place: Place,
    machine: Machine,
    transactions: Transactions,
    station: Station,
    bury: (dead: StationAddress) => Promise<void>,
  ) {
    this.#place = place
    this.#machine = machine
    this.#transactions = transactions
    this.#station = station
    this.#bury = bury
  }

  /** Begins, each time that the database was opened. */
  begin(): void {
    if (this.#closed) return
    // What cannot be looked at now is looked at by another store.
    this.#burying = this.#buryTheDead().catch(() => undefined)
    this.#forgetAfter(PAUSE_MS)
  }

  /** Ends with what is under way, or stores that live for a moment would bury nobody. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#burying
  }

  async #buryTheDead(): Promise<void> {
    const names = (await readdir(this.#place.sockets)).filter((name) => name.endsWith(SOCKET_SUFFIX))
    await Promise.all(someOf(names).map((name) => this.#buryIfDead(name)))
  }

  async #buryIfDead(name: string): Promise<void> {
    const id = name.slice(0, -SOCKET_SUFFIX.length)
    if (id === this.#station.id) return
    const socket = join(this.#place.sockets, name)
    const found = { id, socket, inode: inodeOf(socket), pidNamespace: '' }
    if (await this.#station.isDead(found)) await this.#bury(found)
  }

  #forgetAfter(delayMs: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#forget(), delayMs)
    this.#timer.unref()
  }

  async #forget(): Promise<void> {
    const some = this.#transactions.do({ work: ({ db }) => forgetSomeIdle(db, this.#machine) })
    const more = await some.catch(() => false)
    if (!this.#closed) this.#forgetAfter(more ? PAUSE_MS : ROUND_MS)
  }
}

/** Other ones for each store, so that those which live do not hide the dead. */
function someOf(names: readonly string[]): readonly string[] {
  const first = Math.floor(systemRandom.next() * names.length)
  return [...names.slice(first), ...names.slice(0, first)].slice(0, LOOK_AT_SOCKETS)
}
