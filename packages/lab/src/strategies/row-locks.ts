/** Locks that the database itself has: on a row, and by a row. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ITEM, type ShopDatabase, type Transaction } from '../shop/shop.js'
import { putBack, readModifyWrite, writeOrder } from './steps.js'
import { nothingToClose, type Sale, type Strategy, type Visit } from './strategy.js'

function forUpdate(
  id: string,
  { sound, shop }: Pick<Strategy, 'sound' | 'shop'>,
  column: 'item' | 'title',
  value: string,
): Strategy {
  return {
    id,
    sound,
    trouble: 'bystander',
    ...(shop === undefined ? {} : { shop }),
    open: async ({ shop }) => ({
      buy: (visit) => shop.transaction((tx) => buyLocked(tx, visit, column, value)),
      close: nothingToClose,
    }),
  }
}

async function buyLocked(
  tx: Transaction,
  visit: Visit,
  column: string,
  value: string,
): Promise<Sale> {
  const [row] = await tx.query(`select amount from stock where ${column} = ? for update`, [value])
  const amount = Number(row?.['amount'])
  visit.saw(amount)
  if (amount <= 0) return 'soldOut'
  await visit.think()
  if (amount === 1) await visit.lastItem()
  await putBack(tx, amount - 1)
  await writeOrder(tx, visit)
  return 'sold'
}

/** By the primary key: one row is locked, until the commit. */
export const selectForUpdate = forUpdate(
  'select-for-update',
  { sound: true, shop: 'server' },
  'item',
  ITEM,
)

/**
 * By a column without an index. MariaDB locks every row that it reads on the way, which is all of
 * them; PostgreSQL locks only the rows that match.
 */
export const selectForUpdateUnindexed = forUpdate(
  'select-for-update-no-index',
  { sound: false, shop: 'mysql' },
  'title',
  'A book',
)

const LOCK_ROW = 'shop'
const RETRY_MS = 20

/**
 * A row with a unique key is the lock. The client that inserted the row holds the lock, and deletes
 * the row at the end if it still lives.
 */
export const uniqueRow: Strategy = {
  id: 'unique-row',
  sound: false,
  trouble: 'kill',
  open: async ({ shop: { direct } }) => ({
    async buy(visit) {
      while (!(await insertRow(direct))) {
        await sleep(RETRY_MS)
        visit.waitLimit.throwIfAborted()
      }
      try {
        return await readModifyWrite(direct, visit)
      } finally {
        await direct.change('delete from row_locks where name = ?', [LOCK_ROW])
      }
    },
    close: nothingToClose,
  }),
}

async function insertRow(direct: ShopDatabase): Promise<boolean> {
  try {
    await direct.change('insert into row_locks values (?)', [LOCK_ROW])
    return true
  } catch (error) {
    if (/unique|duplicate/i.test(String(error))) return false
    throw error
  }
}
