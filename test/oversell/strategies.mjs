// Ways to protect a sale, by name. Each is given what a buyer has, and resolves to whether the
// buyer got an item.
//
// `locks` and `db` are Holdfast's; `sell(query)` is the sale; `gate` lets a test choose when a
// transaction commits.
import { advisoryLock, lockRow, optimistic } from 'holdfast/transaction'

const ITEM = { table: 'items', key: { id: 1 } }
/** All buyers change the one row, which `optimistic` is not made for. */
const MANY_TRIES = 10_000

const selling = ({ db, sell }, tx) => sell((sql) => db.query(tx, sql, []))

export const STRATEGIES = {
  /**
   * The lease covers the transaction until its commit. A process that waits for the processor for
   * longer than a lease lasts loses the lease, and its sale is rolled back. Then it sells again. A
   * sale that was made after all would be refused as a second order.
   */
  async lease(buyer) {
    const { locks, db } = buyer
    for (;;) {
      try {
        return await locks.transaction(locks.mutex('item 1'), db, (tx) => selling(buyer, tx))
      } catch (error) {
        if (error.code !== 'LOCK_LOST') throw error
      }
    }
  },

  /** The row itself, locked until the commit. */
  async 'lock on the row'(buyer) {
    return buyer.db.transaction(async (tx) => {
      await lockRow(tx, ITEM)
      return selling(buyer, tx)
    })
  },

  /** A name, locked until the commit. */
  async 'advisory lock'(buyer) {
    return buyer.db.transaction(async (tx) => {
      await advisoryLock(tx, 'item 1')
      return selling(buyer, tx)
    })
  },

  /** No lock: who comes too late sells again. */
  async optimistic({ db, buyer }) {
    let sold = false
    await optimistic(
      db,
      ITEM,
      async ({ stock }, tx) => {
        sold = stock > 0
        if (!sold) return undefined
        await db.query(tx, `insert into orders (buyer) values (${buyer})`, [])
        return { stock: stock - 1 }
      },
      { tries: MANY_TRIES, maxBackoffMs: 50 },
    )
    return sold
  },

  /** The usual mistake: the lock is released first, and then the transaction commits. */
  async 'released before the commit'(buyer) {
    const { locks, db, gate } = buyer
    const lease = await locks.mutex('item 1').acquire()
    return db.transaction(async (tx) => {
      const sold = await selling(buyer, tx)
      await lease.release()
      await gate.beforeCommit()
      return sold
    })
  },
}
