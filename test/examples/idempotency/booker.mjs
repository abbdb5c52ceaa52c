/** Books with a unique key alone: prints the booking, or dies before the commit with `DIES`. */
import { Pool } from 'pg'
import { bookOnce, LEDGER } from '../../../examples/idempotency/book-once.mjs'

const { STORE, KEY, DIES } = process.env
const pool = new Pool({ connectionString: STORE })
await pool.query(`select pg_advisory_xact_lock(1);${LEDGER}`)
const connect = pool.connect.bind(pool)
if (DIES) {
  pool.connect = async () => {
    const client = await connect()
    const query = client.query.bind(client)
    client.query = (text, values) =>
      text === 'commit' ? process.kill(process.pid, 'SIGKILL') : query(text, values)
    return client
  }
}
console.log(`booking ${await bookOnce(pool, KEY, { account: 'ada', amount: 5 })}`)
await pool.end()
