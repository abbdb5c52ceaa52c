// A process that is to be stopped in the middle of its transaction: `stopped.mjs URL`. Says "inside" when it is, and then
// "ended" with what became of the transaction.
import { createLocks } from 'holdfast'
import { mysqlStore, mysqlTransactions } from 'holdfast/mysql'
import { pgTransactions, postgresStore } from 'holdfast/postgres'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'

const [url] = process.argv.slice(2)
const isMysql = url.startsWith('mysql:')
const pool = isMysql
  ? createPool({ uri: url, connectionLimit: 3 })
  : new Pool({ connectionString: url, max: 3 }).on('error', () => undefined)
const locks = createLocks(isMysql ? mysqlStore({ pool }) : postgresStore({ pool }), { ttlMs: 500 })
const db = isMysql ? mysqlTransactions(pool) : pgTransactions(pool)

const outcome = await locks
  .transaction(locks.mutex('stopped'), db, async (tx, lease) => {
    await tx.query('insert into writes values (1)')
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
