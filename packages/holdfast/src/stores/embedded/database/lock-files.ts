/**
 * All database files of the folder, as one open store uses them: which one keeps a lock, and what
 * stands in all.
 */
import { LockUsageError } from '../../../errors.js'
import type { ListQuery, LockInfo, NamesPage } from '../../../store/contract.js'
import * as rule from '../../../store/grant-rule.js'
import { UNUSED } from './codec.js'
import { fileIndexOf, databaseFiles, type StateFolder } from '../folder/state-folder.js'
import { Layout } from './layout.js'
import type { SocketAddress } from '../folder/socket-address.js'
import type { MayLive } from './other-boot.js'
import { LockFile } from './lock-file.js'
import type { Machine } from '../folder/machine.js'
import type { OpenedDatabase } from './schema.js'
import type { Promotion, Transaction } from './transaction.js'

export class LockFiles {
  readonly all: readonly LockFile[]

  constructor(
    folder: StateFolder,
    machine: Machine,
    onPromotions: (promotions: readonly Promotion[], file: LockFile) => void,
    mayLive: MayLive,
  ) {
    const layout = new Layout(folder, machine)
    this.all = databaseFiles(folder).map((databaseFile) => {
      const file: LockFile = new LockFile(
        databaseFile,
        layout,
        machine,
        (promotions) => onPromotions(promotions, file),
        mayLive,
      )
      return file
    })
  }

  of(lock: string): LockFile {
    return this.all[fileIndexOf(lock)] as LockFile
  }

  /** The files that some process has used. */
  existing(): readonly LockFile[] {
    return this.all.filter((file) => file.exists())
  }

  /** Opens the first file, and returns what was found. */
  ready(): Promise<OpenedDatabase> {
    return (this.all[0] as LockFile).transactions.ready()
  }

  /**
   * Finds a peer in the file that names it, or else in the others. Undefined when no file knows
   * it.
   */
  async findPeer(id: string, first?: LockFile): Promise<SocketAddress | undefined> {
    const files = first ? [first] : this.existing()
    const found = await Promise.allSettled(
      files.map((file) =>
        file.transactions.read((transaction) => file.addressesOf(transaction, [id], '')),
      ),
    )
    return found.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))[0]
  }

  /**
   * Lists the locks of one file after the other, a few rows in each step. The cursor is
   * `<index of the file> <last name that was read>`.
   */
  async list({ prefix, cursor, limit }: ListQuery): Promise<NamesPage> {
    // A folder that cannot be used is not an empty one.
    if (cursor === undefined) await this.ready()
    const [index, after] = cursor === undefined ? [0, ''] : placeOf(cursor)
    const file = this.all[index]
    if (!file) return { names: [], cursor: undefined }
    const found: FoundNames = file.exists()
      ? await file.transactions.read((transaction) => busyNames(transaction, prefix, after, limit))
      : { names: [], last: undefined }
    if (found.last !== undefined) return { names: found.names, cursor: `${index} ${found.last}` }
    const isOver = index + 1 >= this.all.length
    return { names: found.names, cursor: isOver ? undefined : `${index + 1} ` }
  }

  /** Groups locks by the files that keep them. */
  byFile(names: readonly string[]): readonly LocksOfFile[] {
    const groups = new Map<LockFile, string[]>()
    for (const name of names) {
      const file = this.of(name)
      const group = groups.get(file)
      if (group) group.push(name)
      else groups.set(file, [name])
    }
    return Array.from(groups, ([file, ofFile]) => ({ file, names: ofFile }))
  }

  close(): void {
    for (const { transactions } of this.all) transactions.close()
  }
}

/** How many rows one step of a list reads. */
const ROWS_A_STEP = 500

interface FoundNames {
  readonly names: readonly string[]
  /** The last name that was read. Undefined where the file has no more. */
  readonly last: string | undefined
}

function busyNames({ db }: Transaction, prefix: string, after: string, limit: number): FoundNames {
  const rows = db
    .prepare(
      'SELECT name, busy = 1 AND instr(state, ?) = 0 AS busy FROM locks ' +
        'WHERE name >= ? AND name > ? ORDER BY name LIMIT ?',
    )
    .all(UNUSED, prefix, after, ROWS_A_STEP) as { name: string; busy: number }[]
  const names: string[] = []
  for (const { name, busy } of rows) {
    if (!name.startsWith(prefix)) return { names, last: undefined }
    if (busy === 1) names.push(name)
    if (names.length === limit) return { names, last: name }
  }
  return { names, last: rows.length < ROWS_A_STEP ? undefined : rows.at(-1)?.name }
}

function placeOf(cursor: string): [index: number, after: string] {
  const [, index, after] = /^(\d+) (.*)$/s.exec(cursor) ?? []
  if (index !== undefined && after !== undefined) return [Number(index), after]
  throw new LockUsageError('The cursor of this list is not of an embedded store. Begin again.', {
    store: 'embedded',
  })
}

/** Locks, and where the peers can be reached that hold them. */
export interface Described {
  readonly locks: readonly LockInfo[]
  readonly peers: readonly SocketAddress[]
}

/** Some locks of one file. */
export interface LocksOfFile {
  readonly file: LockFile
  readonly names: readonly string[]
}

/**
 * Describes locks as they are now, in one step of the event loop: a caller passes few of them.
 * Where a waiter is to be promoted because a lease has ended, a transaction that writes promotes it
 * first. So a holder that is shown has been granted the lock.
 * @param ownId the id of the peer that asks, which is alive
 * @param waitersUpTo see `Store.inspect`
 */
export async function describeLocks(
  { file, names }: LocksOfFile,
  ownId: string,
  waitersUpTo?: readonly string[],
): Promise<Described> {
  let promotes = false
  const look = (transaction: Transaction): Described => {
    const peerIds = new Set<string | undefined>()
    const locks = names.flatMap(
      (name) =>
        transaction.onLock(name, (state, step, lock) => {
          const info = rule.describe(name, state, step, waitersUpTo)
          promotes ||= step.promoted.length > 0
          for (const id of state.holders.keys()) peerIds.add(lock.peerIds.get(id))
          return info
        }) ?? [],
    )
    return { locks, peers: file.addressesOf(transaction, peerIds, ownId) }
  }
  const described = await file.transactions.read(look)
  return promotes ? file.transactions.do({ work: look }) : described
}
