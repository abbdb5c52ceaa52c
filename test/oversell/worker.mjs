// A process of buyers: `worker.mjs URL STRATEGY FIRST COUNT`. They all want an item at once.
// Reports what each got.
import { createLocks } from 'holdfast'
import { mysqlStore, mysqlTransactions } from 'holdfast/mysql'
import { pgTransactions, postgresStore } from 'holdfast/postgres'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { sell } from './shop.mjs'
import { STRATEGIES } from './strategies.mjs'

const CONNECTIONS = 5

const [url, strategy, first, count] = process.argv.slice(2)
const isMysql = url.startsWith('mysql:')
const pool = isMysql
  ? createPool({ uri: url, connectionLimit: CONNECTIONS })
  : new Pool({ connectionString: url, max: CONNECTIONS })
const locks = createLocks(isMysql ? mysqlStore({ pool }) : postgresStore({ pool }))
const db = isMysql ? mysqlTransactions(pool) : pgTransactions(pool)

/** Buyers who wait at the gate. */
const waiting = new Map()
process.on('message', (buyer) => waiting.get(buyer)?.())
process.on('disconnect', () => process.exit(1))

async function buy(buyer) {
  const gate = {
    beforeCommit: () =>
      new Promise((resolve) => {
        waiting.set(buyer, resolve)
        process.send({ event: 'at the gate', buyer })
      }),
  }
  // The clock is the machine's, so that times of several processes compare.
  const onRead = () => process.send({ event: 'read', buyer, atNs: String(process.hrtime.bigint()) })
  const sold = await STRATEGIES[strategy]({
    locks,
    db,
    gate,
    buyer,
    sell: (query) => sell(query, buyer, onRead),
  })
  process.send({ event: 'done', buyer, sold })
}

await Promise.all(Array.from({ length: Number(count) }, (_, index) => buy(Number(first) + index)))
await locks.close()
await pool.end()
process.exit(0)
