/**
 * Reads unique indexes from SHOW CREATE TABLE of MySQL. MySQL keeps `information_schema` in
 * ordinary tables, so a query there fixes the snapshot of the transaction. Reads under a lock that
 * is granted later would then be older than the lock. SHOW CREATE TABLE fixes no snapshot.
 */
import type { SqlRow } from '../database.js'

/** A name in quotes of either kind, or in none. */
const NAME = '(?:`(?:[^`]|``)+`|"(?:[^"]|"")+"|[\\w$\\u0080-\\uffff]+)'
/** Neither the beginning of a column's text nor an expression. */
const PART = `${NAME}(?: DESC)?`
const UNIQUE = new RegExp(
  `^\\s+(?:PRIMARY KEY|UNIQUE KEY (${NAME})) \\((${PART}(?:,${PART})*)\\)(.*)$`,
)
const COLUMN = new RegExp(`^\\s+(${NAME}) (\\w+)`)
/** In a comment, since older servers would not understand it. */
const INVISIBLE = /\/\*!\d+ INVISIBLE \*\//
const ENGINE = /^\) ENGINE=(\w+)/

/**
 * One row for each column of each unique index, or one without an index. The engine of a view is
 * null.
 */
export function uniqueIndexesOf(definition: string): SqlRow[] {
  const lines = definition.split('\n')
  const kind =
    lines.map((line) => ENGINE.exec(line)?.[1]).find((engine) => engine !== undefined) ?? null
  const types = new Map<string, string>()
  const rows: SqlRow[] = []
  for (const line of lines) {
    const [, name = 'PRIMARY', parts = '', rest = ''] = UNIQUE.exec(line) ?? []
    const [, column = '', type = ''] = COLUMN.exec(line) ?? []
    if (parts !== '') {
      if (INVISIBLE.test(rest)) continue
      for (const [col] of parts.matchAll(new RegExp(PART, 'g'))) {
        const of = unquoted(col.replace(/ DESC$/, ''))
        rows.push({ kind, idx: unquoted(name), col: of, type: types.get(of) })
      }
    } else if (column !== '') types.set(unquoted(column), type)
  }
  return rows.length > 0 ? rows : [{ kind, idx: null, col: null, type: null }]
}

function unquoted(name: string): string {
  const mark = name.charAt(0)
  return mark === '`' || mark === '"' ? name.slice(1, -1).replaceAll(mark + mark, mark) : name
}
