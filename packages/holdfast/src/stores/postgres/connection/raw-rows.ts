/**
 * Reads answers of `postgres` as the server gave them, for any `transform` of the instance.
 * `postgres.pascal`, for example, renames columns, and a grant would look like a refusal.
 */
import { LockUsageError } from '../../../errors.js'
import type { PostgresJs, Row } from './pools.js'

/** As much of the options of an instance as is used. */
interface WithTransform {
  readonly transform?: {
    readonly column?: { readonly from?: (name: string) => string }
    readonly row?: { readonly from?: unknown }
  }
}

/** A query that is not awaited yet. Raw rows are bytes by position, without any transform. */
interface Pending extends PromiseLike<readonly unknown[]> {
  raw?(): PromiseLike<readonly unknown[]>
}

type RawAnswer = readonly (readonly (Uint8Array | null)[])[] & {
  readonly columns?: readonly { readonly name: string }[] | null
}

/**
 * Rejects an instance that transforms whole rows, which cannot be undone.
 * @throws LockUsageError for such an instance.
 */
export function checkTransform(sql: PostgresJs): void {
  if ((sql.options as WithTransform).transform?.row?.from === undefined) return
  throw new LockUsageError(
    'This instance of "postgres" has the option transform.row, which would also change the rows of ' +
      'Holdfast. Give postgresStore an instance of its own without it.',
    { store: 'postgres' },
  )
}

/**
 * Resolves to the rows of a query with the names and values of the server.
 * @param text the statement, which contains each column's name in lower case
 */
export async function rawRows(
  sql: PostgresJs,
  text: string,
  pending: PromiseLike<readonly unknown[]>,
): Promise<readonly Row[]> {
  const query: Pending = pending
  if (!query.raw) return (await query) as Row[]
  const answer = (await query.raw()) as RawAnswer
  const names = namesOf(sql, text, answer.columns ?? [])
  return Array.from(answer, (values) =>
    Object.fromEntries(values.map((value, index) => [names[index] ?? '', textOf(value)])),
  )
}

function namesOf(
  sql: PostgresJs,
  text: string,
  columns: readonly { readonly name: string }[],
): string[] {
  const from = (sql.options as WithTransform).transform?.column?.from
  if (!from) return columns.map(({ name }) => name)
  const words = text.match(/[a-z_]+/g) ?? []
  return columns.map(({ name }) => words.findLast((word) => from(word) === name) ?? name)
}

function textOf(value: Uint8Array | null): string | null {
  return value === null
    ? null
    : Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()
}
