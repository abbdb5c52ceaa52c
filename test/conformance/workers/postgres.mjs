/** A worker that opens the PostgreSQL store through the given library. */
import { serveWorker } from '@holdfast/conformance'
import { postgresStore } from 'holdfast/postgres'
import { Pool } from 'pg'
import postgres from 'postgres'

const [, , library, url] = process.argv
const pool =
  library === 'pg' ? new Pool({ connectionString: url, max: 4 }) : postgres(url, { max: 4 })

await serveWorker(() => postgresStore({ pool }))
