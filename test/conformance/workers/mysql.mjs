/** A worker that opens the MySQL store at the given URL. */
import { serveWorker } from '@holdfast/conformance'
import { mysqlStore } from 'holdfast/mysql'
import { createPool } from 'mysql2/promise'

const pool = createPool({ uri: process.argv[2], connectionLimit: 4 })

await serveWorker(() => mysqlStore({ pool }))
