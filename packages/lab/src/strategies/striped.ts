/**
 * Striped inventory: the stock lies in segments, each under a lock of its own. So buyers of
 * different segments do not wait for each other.
 *
 * A buyer that finds a segment empty locks it together with the fullest one, both at once and in
 * the order of their names. It then moves half of the fullest one's stock over. Stock moves only in
 * such transactions, so that a sum of zero over all segments, read in one statement, means that
 * everything is sold.
 */
import type { Lease } from 'holdfast'
import { ITEM, type ShopDatabase } from '../shop/shop.js'
import { openLocks } from './stores.js'
import { writeOrder } from './steps.js'
import type { Sale, Strategy, Visit } from './strategy.js'

export const stripedInventory: Strategy = {
  id: 'striped',
  sound: true,
  segmented: true,
  async open(premises) {
    const { shop, segments } = premises
    const { locks, close } = await openLocks('embedded', premises, { fairness: 'fifo' })
    const stripes = locks.striped('stock', { stripes: segments })

    async function buy(visit: Visit): Promise<Sale> {
      const own = stripes.indexOf(String(visit.buyer))
      for (;;) {
        visit.waitLimit.throwIfAborted()
        if (
          await stripes
            .at(own)
            .run((lease) => sellFrom(own, visit, lease), { signal: visit.waitLimit })
        )
          return 'sold'
        const richest = await fullest(shop.direct)
        if (richest === undefined) return 'soldOut'
        if (richest !== own) await bringOver(richest, own, visit)
      }
    }

    function sellFrom(segment: number, visit: Visit, lease: Lease): Promise<boolean> {
      return shop.transaction(async (tx) => {
        const amount = await amountIn(tx, segment)
        if (amount <= 0) return false
        await visit.think()
        lease.assertHeld()
        await setAmount(tx, segment, amount - 1)
        await writeOrder(tx, visit)
        return true
      })
    }

    function bringOver(from: number, to: number, { waitLimit }: Visit): Promise<void> {
      return locks.multi([stripes.at(from), stripes.at(to)]).run(
        () =>
          shop.transaction(async (tx) => {
            const [there, here] = [await amountIn(tx, from), await amountIn(tx, to)]
            // Another buyer of this segment has brought some over meanwhile.
            if (here > 0) return
            const moved = Math.ceil(there / 2)
            await setAmount(tx, from, there - moved)
            await setAmount(tx, to, moved)
          }),
        { signal: waitLimit },
      )
    }

    return { buy, close }
  },
}

async function amountIn(db: ShopDatabase, segment: number): Promise<number> {
  const [row] = await db.query('select amount from segments where item = ? and segment = ?', [
    ITEM,
    segment,
  ])
  return Number(row?.['amount'])
}

async function setAmount(db: ShopDatabase, segment: number, amount: number): Promise<void> {
  await db.change('update segments set amount = ? where item = ? and segment = ?', [
    amount,
    ITEM,
    segment,
  ])
}

/** The segment with most in it, or undefined when there is nothing left anywhere. */
async function fullest(db: ShopDatabase): Promise<number | undefined> {
  const [row] = await db.query(
    'select segment from segments where item = ? and amount > 0 order by amount desc limit 1',
    [ITEM],
  )
  return row === undefined ? undefined : Number(row['segment'])
}
