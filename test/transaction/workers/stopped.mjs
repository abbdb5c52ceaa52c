// A process that is to be stopped in the middle of its transaction: `stopped.mjs LIBRARY URL`. Says
// "inside" when it is, and then "ended" with what became of the transaction.
import { createLocks } from 'holdfast'
import { mysqlStore, mysqlTransactions } from 'holdfast/mysql'
import { pgTransactions, postgresJsTransactions, postgresStore } from 'holdfast/postgres'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import postgres from 'postgres'

const [library, url] = process.argv.slice(2)
const { store, db } = {
  pg() {
    const pool = new Pool({ connectionString: url, max: 3 }).on('error', () => undefined)
    return { store: postgresStore({ pool }), db: pgTransactions(pool) }
  },
  postgres() {
    const sql = postgres(url, { max: 3, fetch_types: false, onnotice: () => undefined })
    return { store: postgresStore({ pool: sql }), db: postgresJsTransactions(sql) }
  },
  mysql2() {
    const pool = createPool({ uri: url, connectionLimit: 3 })
    return { store: mysqlStore({ pool }), db: mysqlTransactions(pool) }
  },
}[library]()
const locks = createLocks(store, { ttlMs: 2000 })

const outcome = await locks
  .transaction(locks.mutex('stopped'), db, async (tx, lease) => {
    await db.query(tx, 'insert into writes values (1)', [])
    process.send('inside')
    await new Promise((resolve) => lease.signal.addEventListener('abort', resolve))
  })
  .then(
    () => 'committed',
    (error) => error.code,
  )
process.send(`ended: ${outcome}`)
await locks.close({ graceMs: 0 })
process.exit(0)
