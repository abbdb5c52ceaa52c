/**
 * The format of tables and procedures. Both are only added to, so most changes keep it. A change
 * that processes of this version must not meet gets a new number, and the migration to it does two
 * things:
 *
 * - It writes the number to `facts`, so that the migration of this version refuses.
 * - It puts procedures that signal `HF002` in the place of `turn_2`, `one_2` and `names_1`, and of
 *   `turn_1` and `one_1`. A process of this version then reports `STORE_FORMAT` at its next call,
 *   at no cost to any call before. An older version reports a failure, and does not replace them:
 *   its migration makes procedures only where there are none.
 */
import { newerFormat } from '../../errors.js'
import { statement, type Connections } from './clients.js'
import { isUnmigrated } from './errors.js'

export const SCHEMA_FORMAT = 1

export const NOTE_FORMAT = `insert ignore into holdfast_facts (name, value) values ('format', '${SCHEMA_FORMAT}')`

type Session = Pick<Awaited<ReturnType<Connections['getConnection']>>, 'query'>

/** @throws StoreUnavailableError (`STORE_FORMAT`) when a newer version made the tables. */
export async function checkFormat(session: Session, prefix: string): Promise<void> {
  const [[row]] = (await session
    .query(statement(`select value from ${prefix}facts where name = 'format'`))
    .catch(nothing)) as [{ readonly value: string }[]]
  if (row === undefined || Number(row.value) <= SCHEMA_FORMAT) return
  const found = `format ${row.value}`
  throw newerFormat(`The schema "${prefix}…"`, { found, known: SCHEMA_FORMAT, store: 'mysql' })
}

/**
 * Before the first migration, and after that of a version that had no formats, there is no such
 * table.
 */
function nothing(error: unknown): [never[]] {
  if (isUnmigrated(error)) return [[]]
  throw error
}
