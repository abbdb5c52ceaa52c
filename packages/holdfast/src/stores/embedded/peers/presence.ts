/**
 * Shows this store to the other stores of this machine. Its socket listens before its first claim
 * is made. Each lock file in use has a row with the address of the socket.
 */
import type { StateFolder } from '../folder/state-folder.js'
import type { FolderCleanup } from './folder-cleanup.js'
import type { LockFile } from '../database/lock-file.js'
import type { LockFiles } from '../database/lock-files.js'
import type { Machine } from '../folder/machine.js'
import type { SocketAddress } from '../folder/socket-address.js'
import { explain } from '../database/errors.js'
import { prepareFolder } from '../folder/directory.js'
import { refuseOtherBoots } from './other-boots.js'
import type { Peers } from './peers.js'
import type { Transaction } from '../database/transaction.js'
import type { WakeUpSocket } from './wake-up-socket.js'

interface Parts {
  readonly folder: StateFolder
  readonly machine: Machine
  readonly files: LockFiles
  readonly socket: WakeUpSocket
  readonly cleanup: FolderCleanup
  readonly peers: Peers
}

export class Presence {
  readonly #parts: Parts
  /** The inode of the socket. Undefined until this store may have claims. */
  #inode: string | undefined
  #beginning: Promise<string> | undefined

  constructor(parts: Parts) {
    this.#parts = parts
  }

  get isListening(): boolean {
    return this.#inode !== undefined
  }

  /**
   * Lets the socket listen. Opens the database first: that makes the folder for sockets, and
   * reports what is wrong with it.
   */
  async listen(lock: string): Promise<undefined> {
    const { files, folder } = this.#parts
    await files.of(lock).transactions.ready()
    if (this.isListening) return
    const beginning = (this.#beginning ??= this.#begin())
    try {
      this.#inode = await beginning
    } catch (error) {
      throw explain(error, folder, folder.sockets)
    } finally {
      if (this.#beginning === beginning) this.#beginning = undefined
    }
  }

  /** Resolves to the inode of the socket once this store may have claims. */
  async #begin(): Promise<string> {
    const { folder, files, machine, peers, socket } = this.#parts
    if (folder.kind !== 'beside') return socket.listen()
    // A store of another boot may have removed it since the database was opened.
    prepareFolder(folder, machine)
    const inode = await socket.listen()
    try {
      await refuseOtherBoots(folder, machine, peers)
      for (const { transactions } of files.all) transactions.lookAgain()
      return inode
    } catch (error) {
      socket.stop()
      throw error
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
    this.#parts.cleanup.begin(file)
    try {
      const inode = await this.#parts.socket.listen()
      if (inode === this.#inode) return
      this.#inode = inode
      await Promise.all(this.#parts.files.all.map((each) => this.#registerAgain(each)))
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
    const { id, path } = this.#parts.socket
    return {
      id,
      socket: path,
      inode: this.#inode ?? '',
      pidNamespace: this.#parts.machine.pidNamespace,
    }
  }
}
