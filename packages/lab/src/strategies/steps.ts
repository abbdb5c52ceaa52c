/**
 * What a shop assistant does, step by step. Each strategy puts the steps in an order of its own.
 */
import { ITEM, type ShopDatabase } from '../shop/shop.js'
import type { Sale, Visit } from './strategy.js'

export async function readStock(db: ShopDatabase, visit: Visit): Promise<number> {
  const [row] = await db.query('select amount from stock where item = ?', [ITEM])
  const amount = Number(row?.['amount'])
  visit.saw(amount)
  return amount
}

export async function putBack(db: ShopDatabase, amount: number): Promise<void> {
  await db.change('update stock set amount = ? where item = ?', [amount, ITEM])
}

export async function takeOne(db: ShopDatabase): Promise<void> {
  await db.change('update stock set amount = amount - 1 where item = ?', [ITEM])
}

export async function writeOrder(db: ShopDatabase, { buyer }: Visit): Promise<void> {
  await db.change('insert into orders values (?, ?)', [ITEM, buyer])
}

/**
 * Looks, thinks, and writes the result: right as long as no other buyer does the same meanwhile.
 */
export async function readModifyWrite(
  db: ShopDatabase,
  visit: Visit,
  check?: () => void,
): Promise<Sale> {
  const amount = await readStock(db, visit)
  if (amount <= 0) return 'soldOut'
  await visit.think()
  if (amount === 1) await visit.lastItem()
  check?.()
  await putBack(db, amount - 1)
  await writeOrder(db, visit)
  return 'sold'
}
