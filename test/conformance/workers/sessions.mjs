/** A process of its own that opens a store in session mode, and does what the suite asks. */
import { serveWorker } from 'holdfast/conformance'
import { mysqlStore } from 'holdfast/mysql'
import { postgresStore } from 'holdfast/postgres'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import postgres from 'postgres'

const [, , database, library, url] = process.argv
const mode = 'session'

await serveWorker(() => {
  if (database === 'mysql') return mysqlStore({ pool: createPool({ uri: url, connectionLimit: 6 }), mode })
  if (library === 'pg') return postgresStore({ pool: new Pool({ connectionString: url, max: 6 }), mode })
  return postgresStore({ pool: postgres(url, { max: 6, onnotice: () => undefined }), mode })
})
