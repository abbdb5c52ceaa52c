/** Waits for a lock, closes its locks and its pool, and prints a line then. */
import { createLocks } from 'holdfast'
import { mysqlStore } from 'holdfast/mysql'
import { postgresStore } from 'holdfast/postgres'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import postgres from 'postgres'

const [library, url] = process.argv.slice(2)
const OPEN = {
  pg: () => new Pool({ connectionString: url }),
  postgres: () => postgres(url, { fetch_types: false }),
  mysql2: () => createPool({ uri: url, connectionLimit: 4 }),
}
const pool = OPEN[library]()
const store = (library === 'mysql2' ? mysqlStore : postgresStore)({ pool })
const [holder, waiter] = [createLocks(store), createLocks(store)]
const lease = await holder.mutex('life').acquire()
await waiter.mutex('life').tryAcquire({ waitMs: 500 })
await lease.release()
await waiter.close()
await holder.close()
await pool.end()
process.stdout.write('closed\n')
