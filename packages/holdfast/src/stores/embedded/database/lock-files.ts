/**
 * All database files of the folder, as one open store uses them: which one keeps a lock, and what
 * stands in all.
 */
import type { InspectPage, LockInfo } from '../../../store/contract.js'
import * as rule from '../../../store/grant-rule.js'
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

  /** @param waitersUpTo see `InspectQuery` */
  async inspectLock(lock: string, waitersUpTo?: readonly string[]): Promise<InspectPage> {
    return { locks: await describe(this.of(lock), [lock], waitersUpTo), cursor: undefined }
  }

  async inspectPage(prefix: string, cursor: string, limit: number): Promise<InspectPage> {
    // A folder that cannot be used is not an empty one.
    await this.ready()
    const files = this.existing()
    const found = await Promise.all(
      files.map(async (file) => {
        const names = await file.transactions.read((transaction) =>
          busyNames(transaction, prefix, cursor, limit + 1),
        )
        return names.map((name) => ({ name, file }))
      }),
    )
    const sorted = found.flat().toSorted((a, b) => compareBytes(a.name, b.name))
    const page = sorted.slice(0, limit)
    const locks = await Promise.all(
      files.map((file) =>
        describe(
          file,
          page.flatMap((entry) => (entry.file === file ? entry.name : [])),
        ),
      ),
    )
    return {
      locks: locks.flat().toSorted((a, b) => compareBytes(a.lock, b.lock)),
      cursor: sorted.length > limit ? page.at(-1)?.name : undefined,
    }
  }

  close(): void {
    for (const { transactions } of this.all) transactions.close()
  }
}

function busyNames(
  { db }: Transaction,
  prefix: string,
  cursor: string,
  limit: number,
): readonly string[] {
  const names = db
    .prepare(
      'SELECT name FROM locks WHERE busy = 1 AND name >= ? AND name > ? AND substr(name, 1, length(?)) = ? ' +
        'ORDER BY name LIMIT ?',
    )
    .all(prefix, cursor, prefix, prefix, limit) as { name: string }[]
  return names.map(({ name }) => name)
}

/**
 * Describes locks as they are now. Where a waiter is to be promoted because a lease has ended, a
 * transaction that writes promotes it first. So a holder that is shown has been granted the lock.
 */
async function describe(
  file: LockFile,
  names: readonly string[],
  waitersUpTo?: readonly string[],
): Promise<readonly LockInfo[]> {
  if (names.length === 0) return []
  let promotes = false
  const look = (transaction: Transaction): LockInfo[] =>
    names.flatMap(
      (name) =>
        transaction.onLock(name, (state, step) => {
          const info = rule.describe(name, state, step, waitersUpTo)
          promotes ||= step.promoted.length > 0
          return info
        }) ?? [],
    )
  const locks = await file.transactions.read(look)
  return promotes ? file.transactions.do({ work: look }) : locks
}

/** As SQLite sorts text: by its bytes. */
function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
