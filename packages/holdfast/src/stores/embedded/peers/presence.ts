/**
 * Shows this store to the other stores of this machine. Its socket listens before its first claim
 * is made. Each lock file in use has a row with the address of the socket.
 */
import type { StateFolder } from '../folder/directory.js'
import type { FolderCleanup } from './folder-cleanup.js'
import type { LockFile } from '../database/lock-file.js'
import type { LockFiles } from '../database/lock-files.js'
import type { Machine } from '../folder/machine.js'
import type { SocketAddress } from '../folder/socket-address.js'
import { explain } from '../database/errors.js'
import type { Transaction } from '../database/transaction.js'
import type { WakeUpSocket } from './wake-up-socket.js'

export class Presence {
  readonly #folder: StateFolder
  readonly #machine: Machine
  readonly #files: LockFiles
  readonly #socket: WakeUpSocket
  readonly #cleanup: FolderCleanup
  /** The inode of the socket. Undefined until it listens. */
  #inode: string | undefined

  constructor(
    folder: StateFolder,
    machine: Machine,
    files: LockFiles,
    socket: WakeUpSocket,
    cleanup: FolderCleanup,
  ) {
    this.#folder = folder
    this.#machine = machine
    this.#files = files
    this.#socket = socket
    this.#cleanup = cleanup
  }

  get isListening(): boolean {
    return this.#inode !== undefined
  }

  /**
   * Lets the socket listen. Opens the database first: that makes the folder for sockets, and
   * reports what is wrong with it.
   */
  async listen(lock: string): Promise<undefined> {
    await this.#files.of(lock).transactions.ready()
    try {
      this.#inode = await this.#socket.listen()
      return undefined
    } catch (error) {
      throw explain(error, this.#folder, this.#folder.sockets)
    }
  }

  /** Writes the row of this store into a file where it is missing: see `LockFile.register`. */
  register(file: LockFile, transaction: Transaction): number {
    return file.register(transaction, this.#address())
  }

  /**
   * Begins with a file in which the row of this store is new. A user who deleted the last file may
   * have deleted the socket, too.
   */
  async moveIn(file: LockFile): Promise<void> {
    this.#cleanup.begin(file)
    try {
      const inode = await this.#socket.listen()
      if (inode === this.#inode) return
      this.#inode = inode
      await Promise.all(this.#files.all.map((each) => this.#registerAgain(each)))
    } catch {
      // Waiters have to wait for our leases to end. The next claim tries again.
      file.forgetRegistration()
    }
  }

  async #registerAgain(file: LockFile): Promise<void> {
    if (!file.isRegistered) return
    // Until the row is written, each claim writes it.
    file.forgetRegistration()
    const generation = await file.transactions.do({
      work: (transaction) => this.register(file, transaction),
    })
    file.confirmRegistration(generation)
  }

  #address(): SocketAddress {
    const { id, path } = this.#socket
    return { id, socket: path, inode: this.#inode ?? '', pidNamespace: this.#machine.pidNamespace }
  }
}
