/**
 * Cleans up the folder: the sockets and rows of processes that ended without closing, and locks
 * that are not used any more.
 *
 * Every store does a little of it, after its first lock and apart from it: no lock waits for it.
 * What is left is done by those that come later.
 */
import { readdir } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { systemRandom, type Timer } from '../../../clock/clock.js'
import type { StateFolder } from '../folder/state-folder.js'
import { forgetSomeIdle, ROUND_MS } from '../database/forgetting.js'
import { inodeOf } from './peer-socket.js'
import { removeUnfinished } from './unfinished.js'
import type { SocketAddress } from '../folder/socket-address.js'
import type { LockFile } from '../database/lock-file.js'
import type { Machine } from '../folder/machine.js'
import type { Peers } from './peers.js'
import { SOCKET_SUFFIX } from './wake-up-socket.js'

/** `node:fs/promises` takes a millisecond to load, in each start of `holdfast run`. */
const listFolder = promisify(readdir)

/** The number of sockets that one store checks. */
const LOOK_AT_SOCKETS = 16
/** Between two portions of idle locks, in which others write. */
const PAUSE_MS = 50

export class FolderCleanup {
  readonly #folder: StateFolder
  readonly #machine: Machine
  readonly #ownId: string
  readonly #peers: Peers
  readonly #cleanUp: (dead: SocketAddress) => Promise<void>
  #cleaning: Promise<void> | undefined
  readonly #timers = new Map<LockFile, Timer>()
  #closed = false

  /**
   * @param ownId the id of this store among its peers
   * @param cleanUp ends the claims of a dead peer, then removes its row, which may be gone, and
   * its socket
   */
  constructor(
    folder: StateFolder,
    machine: Machine,
    ownId: string,
    peers: Peers,
    cleanUp: (dead: SocketAddress) => Promise<void>,
  ) {
    this.#folder = folder
    this.#machine = machine
    this.#ownId = ownId
    this.#peers = peers
    this.#cleanUp = cleanUp
  }

  /** Begins with a file, each time that it was opened. */
  begin(file: LockFile): void {
    if (this.#closed) return
    // Once: the sockets are the same for all files. Another store checks what this one cannot.
    this.#cleaning ??= this.#cleanUpDead().catch(() => undefined)
    this.#forgetAfter(file, PAUSE_MS)
  }

  /** Finishes the check in progress: otherwise short-lived stores would never clean up. */
  async close(): Promise<void> {
    this.#closed = true
    for (const timer of this.#timers.values()) timer.cancel()
    await this.#cleaning
  }

  async #cleanUpDead(): Promise<void> {
    const names = (await listFolder(this.#folder.sockets)).filter((name) =>
      name.endsWith(SOCKET_SUFFIX),
    )
    await Promise.all(someOf(names).map((name) => this.#cleanUpIfDead(name)))
    removeUnfinished(this.#folder, this.#machine.wallMs())
  }

  async #cleanUpIfDead(name: string): Promise<void> {
    const id = name.slice(0, -SOCKET_SUFFIX.length)
    if (id === this.#ownId) return
    const socket = join(this.#folder.sockets, name)
    const found = { id, socket, inode: inodeOf(socket), pidNamespace: '' }
    if (await this.#peers.isDead(found)) await this.#cleanUp(found)
  }

  #forgetAfter(file: LockFile, delayMs: number): void {
    this.#timers.get(file)?.cancel()
    const timer = this.#machine.timer(delayMs, () => void this.#forget(file), true)
    this.#timers.set(file, timer)
  }

  async #forget(file: LockFile): Promise<void> {
    const some = file.transactions.do({
      work: (transaction) => transaction.changeRows((db) => forgetSomeIdle(db, this.#machine)),
    })
    const more = await some.catch(() => false)
    if (!this.#closed) this.#forgetAfter(file, more ? PAUSE_MS : ROUND_MS)
  }
}

/** Other ones for each store, so that those which live do not hide the dead. */
function someOf(names: readonly string[]): readonly string[] {
  const first = Math.floor(systemRandom.next() * names.length)
  return [...names.slice(first), ...names.slice(0, first)].slice(0, LOOK_AT_SOCKETS)
}
