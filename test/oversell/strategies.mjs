// Ways to protect a sale, by name. Each is given what a buyer has, and resolves to whether the buyer got an item.
//
// `locks` and `db` are Holdfast's; `sell(query)` is the sale; `gate` lets a test choose when a transaction commits.

export const STRATEGIES = {
  /** The lease covers the transaction until its commit. */
  async lease({ locks, db, sell }) {
    return locks.transaction(locks.mutex('item 1'), db, (tx) => sell((sql) => db.query(tx, sql, [])))
  },

  /** The usual mistake: the lock is given back first, and then the transaction commits. */
  async 'released before the commit'({ locks, db, sell, gate }) {
    const lease = await locks.mutex('item 1').acquire()
    return db.transaction(async (tx) => {
      const sold = await sell((sql) => db.query(tx, sql, []))
      await lease.release()
      await gate.beforeCommit()
      return sold
    })
  },
}
