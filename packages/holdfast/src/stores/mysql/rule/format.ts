/**
 * The format of tables and procedures. Tables are only added to, so most changes keep it. A change
 * that processes of this version must not meet gets a new number. The migration to it does two
 * things:
 *
 * - It writes the number to `facts`, so that the migration of this version refuses.
 * - It replaces `apply_batch_v1`, `apply_one_v1` and `list_locks_v1` by procedures that signal
 *   `HF002`. A process of this version then reports `STORE_FORMAT` at its next call, and earlier
 *   calls pay nothing.
 */
import { newerFormat } from '../../../store/errors.js'
import { statement, type Connections } from '../connection/clients.js'
import { isUnmigrated } from '../errors.js'

export const SCHEMA_FORMAT = 1

export const NOTE_FORMAT = `insert ignore into holdfast_facts (name, value) values ('format', '${SCHEMA_FORMAT}')`

type Connection = Pick<Awaited<ReturnType<Connections['getConnection']>>, 'query'>

/** @throws StoreUnavailableError (`STORE_FORMAT`) when a newer version made the tables. */
export async function checkFormat(connection: Connection, prefix: string): Promise<void> {
  const [[row]] = (await connection
    .query(statement(`select value from ${prefix}facts where name = 'format'`))
    .catch(noRows)) as [{ readonly value: string }[]]
  if (row === undefined || Number(row.value) <= SCHEMA_FORMAT) return
  const found = `format ${row.value}`
  throw newerFormat(`The schema "${prefix}…"`, { found, known: SCHEMA_FORMAT, store: 'mysql' })
}

/** The table does not exist before the first migration. */
function noRows(error: unknown): [never[]] {
  if (isUnmigrated(error)) return [[]]
  throw error
}
