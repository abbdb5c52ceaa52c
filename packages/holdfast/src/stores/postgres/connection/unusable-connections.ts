/**
 * Connections of `postgres` (postgres.js) that no statement may use. A program left them inside of
 * a transaction, or they lead to a server that takes no writes. The library does not show the state
 * of a connection, so only statements find them.
 */
import { LockUsageError } from '../../../errors.js'
import { codeOf } from '../errors.js'
import type { PostgresJs } from './pools.js'

/** How often a statement is sent at most, if connections of the pool are inside of transactions. */
export const MOST_TRIES = 10

/** As many connections as the library opens by default. */
const DEFAULT_MAX = 10

/** Returns how many connections an instance may have. */
export function limitOf({ options }: PostgresJs): number {
  const { max } = options as { readonly max?: number }
  return max ?? DEFAULT_MAX
}

/**
 * Rolls the idle connections back. The library lends them in turn, so that many statements reach
 * each one. The first statement fails outside of a transaction, where ROLLBACK alone sends a
 * notice.
 */
export async function rollBackIdle(sql: PostgresJs, isOver = (): boolean => false): Promise<void> {
  for (let left = limitOf(sql); left > 0 && !isOver(); left -= 1) {
    await sql.unsafe('rollback and chain; rollback').then(undefined, () => undefined)
  }
}

/**
 * Ends the idle connections to a server that takes no writes, as `rollBackIdle` reaches them.
 * Another server may have replaced it, and the library would keep them for as long as it runs.
 */
export async function endReadOnly(sql: PostgresJs): Promise<void> {
  for (let left = limitOf(sql); left > 0; left -= 1) {
    await sql.unsafe(END_READ_ONLY).then(undefined, () => undefined) // the connection has ended
  }
}

const END_READ_ONLY =
  'select pg_catalog.pg_terminate_backend(pg_catalog.pg_backend_pid()) ' +
  "where pg_catalog.current_setting('transaction_read_only') operator(pg_catalog.=) 'on'"

/**
 * A statement without values begins a transaction at its own time, unless one is open. An open one
 * began before an answer of the server, so its time is earlier.
 */
const IS_INSIDE = 'pg_catalog.now() operator(pg_catalog.<>) pg_catalog.statement_timestamp()'

/** Rejects inside of a transaction, as COMMIT in a procedure does. Precedes other statements. */
export const REFUSE_INSIDE = /* sql */ `do $outside$ begin
  if ${IS_INSIDE} then
    raise exception 'the migration needs a transaction of its own' using errcode = '2D000';
  end if;
end $outside$;
`

/**
 * Checks an instance that has a single connection: its program may still be in the transaction,
 * which this leaves as it is.
 * @throws LockUsageError inside of a transaction
 */
export async function checkSingle(sql: PostgresJs): Promise<void> {
  if (limitOf(sql) !== 1) return
  let rows: readonly unknown[]
  try {
    rows = await sql.unsafe(`select 1 where ${IS_INSIDE}`)
  } catch (error) {
    throw codeOf(error) === '25P02' ? insideTransaction(error) : error
  }
  if (rows.length > 0) throw insideTransaction()
}

/** Returns the error for connections of which none is outside of a transaction. */
export function insideTransaction(cause?: unknown): LockUsageError {
  return new LockUsageError(
    'The connection of postgres is inside of a transaction, which another one would commit. ' +
      'End each transaction before its connection returns to the pool.',
    { store: 'postgres', cause },
  )
}
