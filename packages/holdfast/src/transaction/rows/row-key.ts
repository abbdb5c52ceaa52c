/** Naming a row by a unique key, in the SQL of either database. */
import { LockUsageError } from '../../errors.js'
import { describe } from '../../options/describe.js'
import type { KnownKeys } from '../../options/known-keys.js'
import type { Dialect } from '../database.js'

/** A row, by the values of a unique key. */
export interface RowKey {
  /** The table; `schema.table` where it is in another schema or database. */
  readonly table: string
  /**
   * The columns of a unique key and their values. Other columns may be among them, and narrow it
   * down.
   */
  readonly key: Readonly<Record<string, unknown>>
}

export const ROW_KEYS: KnownKeys<RowKey> = { table: 1, key: 1 }

/** A checked key. */
export interface CheckedKey {
  /** The table as SQL says it. */
  readonly table: string
  /** The parts of its name, unquoted. */
  readonly path: readonly string[]
  readonly columns: readonly string[]
  readonly values: readonly unknown[]
  /** For messages: `stock (id = 9)`. */
  readonly text: string
}

/** @throws LockUsageError for names that cannot be ones, and for values that a key cannot have. */
export function checkKey({ table, key }: RowKey, dialect: Dialect): CheckedKey {
  if (typeof table !== 'string' || table === '') {
    throw new LockUsageError(`A table is needed as text, not ${describe(table)}.`)
  }
  const columns = typeof key === 'object' && key !== null ? Object.keys(key) : []
  if (columns.length === 0) {
    throw new LockUsageError(
      `The row of "${table}" needs a key: the columns of a unique key and their values, such as { id: 9 }.`,
    )
  }
  const values = Object.values(key)
  for (const [index, value] of values.entries()) {
    if (value === null || value === undefined || Number.isNaN(value)) {
      throw new LockUsageError(
        `The key of a row of "${table}" has ${String(value)} for "${columns[index]}", which equals nothing in a database.`,
      )
    }
  }
  const path = table.split('.')
  const shown = columns.map((column, index) => `${column} = ${describe(values[index])}`)
  return {
    table: path.map((part) => quote(part, dialect)).join('.'),
    path,
    columns,
    values,
    text: `${table} (${shown.join(', ')})`,
  }
}

/** `"a" = $1 and "b" = $2`. */
export function whereKey({ columns }: CheckedKey, dialect: Dialect, from = 1): string {
  return columns
    .map((column, index) => `${quote(column, dialect)} = ${place(from + index, dialect)}`)
    .join(' and ')
}

/** How the value of that number stands in a statement. */
export function place(number: number, dialect: Dialect): string {
  return dialect === 'postgres' ? `$${number}` : '?'
}

/** A name as SQL has to say it. */
export function quote(name: string, dialect: Dialect): string {
  // oxlint-disable-next-line no-control-regex -- a NUL would end the statement
  if (name === '' || /[\u0000]/.test(name)) {
    throw new LockUsageError(`${describe(name)} cannot be the name of a table or a column.`)
  }
  const mark = dialect === 'postgres' ? '"' : '`'
  return mark + name.replaceAll(mark, mark + mark) + mark
}
