/** A process of its own that opens the MySQL store, and does what the suite asks. */
import { serveWorker } from 'holdfast/conformance'
import { mysqlStore } from 'holdfast/mysql'
import { createPool } from 'mysql2/promise'

const pool = createPool({ uri: process.argv[2], connectionLimit: 4 })

await serveWorker(() => mysqlStore({ pool }))
