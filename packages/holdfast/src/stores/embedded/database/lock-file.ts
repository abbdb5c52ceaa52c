/** One database file of the folder, as one open store uses it. */
import { existsSync } from 'node:fs'
import type { DatabaseFile } from '../folder/state-folder.js'
import type { MayLive } from './other-boot.js'
import type { Layout } from './layout.js'
import { socketOf, storedSocket, type SocketAddress } from '../folder/socket-address.js'
import type { Machine } from '../folder/machine.js'
import type { Promotion, Transaction } from './transaction.js'
import { TransactionQueue } from './transaction-queue.js'

export class LockFile {
  readonly transactions: TransactionQueue
  readonly #file: DatabaseFile
  /**
   * The opening of the database in which this store's own row stands; 0 where it does
   * not.
   */
  #registered = 0

  constructor(
    file: DatabaseFile,
    layout: Layout,
    machine: Machine,
    onPromotions: (promotions: readonly Promotion[]) => void,
    mayLive: MayLive,
  ) {
    this.#file = file
    this.transactions = new TransactionQueue(file, layout, machine, onPromotions, mayLive)
  }

  /** Returns whether a process has used this file. Opening it would make it. */
  exists(): boolean {
    return existsSync(this.#file.database)
  }

  get isRegistered(): boolean {
    return this.#registered > 0
  }

  /** Each claim writes the row again from now on, until one of them was committed. */
  forgetRegistration(): void {
    this.#registered = 0
  }

  /**
   * Writes the row of a peer where it is missing. Returns what to pass to `confirmRegistration`
   * after the commit: a transaction may be tried again.
   */
  register(transaction: Transaction, { id, socket, inode, pidNamespace }: SocketAddress): number {
    const { generation } = this.transactions
    if (this.#registered === generation) return generation
    this.transactions.assertOwnBoot(transaction.db)
    transaction.db
      .prepare(
        'INSERT OR REPLACE INTO peers (id, socket, inode, pid_namespace) VALUES (?, ?, ?, ?)',
      )
      .run(id, storedSocket(this.#file, socket), inode, pidNamespace)
    return generation
  }

  /** Returns whether the row is new in this opening of the database. */
  confirmRegistration(generation: number): boolean {
    if (this.#registered === generation) return false
    this.#registered = generation
    return true
  }

  async unregister(id: string): Promise<void> {
    if (!this.isRegistered) return
    const remove = ({ db }: Transaction): unknown =>
      db.prepare('DELETE FROM peers WHERE id = ?').run(id)
    // A row that stays behind is found dead by another store.
    await this.transactions.do({ work: remove }).catch(() => undefined)
  }

  /** Returns where peers can be reached, as the rows in a transaction on this file say. */
  addressesOf(
    transaction: Transaction,
    ids: Iterable<string | undefined>,
    ownId: string,
  ): SocketAddress[] {
    return Array.from(ids).flatMap((id) => {
      const found = id === undefined || id === ownId ? undefined : transaction.findPeer(id)
      return found ? { ...found, socket: socketOf(this.#file, found.socket) } : []
    })
  }
}
