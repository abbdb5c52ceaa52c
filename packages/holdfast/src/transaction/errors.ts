/** Failures of transactions that conflict, as databases report them through any library. */

/**
 * PostgreSQL's SQLSTATE for a lock that was not to be had in time; MySQL's and MariaDB's numbers
 * for the same.
 */
const LOCK_TIMEOUT = new Set<unknown>(['55P03', 1205, 3572])
/**
 * A deadlock, a serialization failure, or (MariaDB) a row that changed after the snapshot: all may
 * be tried again.
 */
const CONFLICT = new Set<unknown>(['40001', '40P01', 1213, 1020])

export function isLockTimeout(error: unknown): boolean {
  return codesOf(error).some((code) => LOCK_TIMEOUT.has(code))
}

/**
 * MySQL's timeout of a wait, for which the server rolls back the statement or, by a setting, the
 * whole transaction.
 */
export function isWaitTimeout(error: unknown): boolean {
  return codesOf(error).includes(1205)
}

export function isConflict(error: unknown): boolean {
  return codesOf(error).some((code) => CONFLICT.has(code))
}

/** PostgreSQL does nothing more in a transaction of which a statement has failed. */
export function isAborted(error: unknown): boolean {
  return codesOf(error).includes('25P02')
}

/** A table, or the schema that it is to be in, is not there. */
export function isNoTable(error: unknown): boolean {
  return codesOf(error).some((code) => code === '42P01' || code === '3F000' || code === 1146)
}

/** MySQL: there is no such database or table, or the user has no right to see it. */
export function isHidden(error: unknown): boolean {
  return codesOf(error).some(
    (code) => code === 1049 || code === 1044 || code === 1142 || code === 1146,
  )
}

/** MySQL knows no such savepoint: the transaction that made it has ended. */
export function isNoSavepoint(error: unknown): boolean {
  return codesOf(error).includes(1305)
}

/** MySQL takes no prepared statement of this kind. MariaDB does. */
export function isNotPreparable(error: unknown): boolean {
  return codesOf(error).includes(1295)
}

/** Whether a transaction is open, inside which MySQL refuses settings of the next one. */
export function isTransactionOpen(error: unknown): boolean {
  return codesOf(error).includes(1568)
}

/** Where the libraries put the code that the server gave, or the error that has it. */
const CODES = ['code', 'errno', 'originalCode'] as const
const INNER = ['cause', 'driverError', 'meta', 'driverAdapterError'] as const
const DEPTH = 6

/** Every code that is somewhere in an error: numbers as numbers, and what may be either as both. */
export function codesOf(error: unknown, depth = 0): unknown[] {
  if (typeof error !== 'object' || error === null || depth > DEPTH) return []
  const properties = error as Readonly<Record<string, unknown>>
  const codes = CODES.flatMap((name) => {
    const code = properties[name]
    // Numbers as text too: that is how Prisma has them.
    return typeof code === 'string' && /^\d{4}$/.test(code) ? [code, Number(code)] : [code]
  })
  return [...codes, ...INNER.flatMap((name) => codesOf(properties[name], depth + 1))]
}
