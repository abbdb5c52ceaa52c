/**
 * Answers of `postgres` as the server gave them, whatever `transform` its caller has set:
 * `postgres.pascal` would have our columns renamed, and a lock that was taken be taken for one that
 * was not.
 */
import { LockUsageError } from '../../errors.js'
import type { PostgresJs, Row } from './pools.js'

/** As much of the options of an instance as is used. */
interface WithTransform {
  readonly transform?: {
    readonly column?: { readonly from?: (name: string) => string }
    readonly row?: { readonly from?: unknown }
  }
}

/**
 * What a query is until it is awaited. Rows that are left raw are bytes by position, and no value
 * is transformed.
 */
interface Pending extends PromiseLike<readonly unknown[]> {
  raw?(): PromiseLike<readonly unknown[]>
}

type RawAnswer = readonly (readonly (Uint8Array | null)[])[] & {
  readonly columns?: readonly { readonly name: string }[] | null
}

/** @throws LockUsageError for an instance whose rows nobody but its caller can read. */
export function checkTransform(sql: PostgresJs): void {
  if ((sql.options as WithTransform).transform?.row?.from === undefined) return
  throw new LockUsageError(
    'This instance of "postgres" has a transform of rows, which would be given those of Holdfast, too. Give postgresStore an ' +
      'instance of its own, without transform.row.',
    { store: 'postgres' },
  )
}

/** @param text the statement: each of its columns is named in it, by a word in lower case */
export async function untransformed(
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
