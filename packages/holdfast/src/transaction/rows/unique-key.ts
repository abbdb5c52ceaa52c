/**
 * Whether a lock on a row stays a lock on that row. Without a unique index over the key, MySQL
 * locks every row that it reads on the way: as a rule the whole table. PostgreSQL may lock several
 * rows where one was meant. So the catalogue is read before, once a minute for each table.
 */
import { systemClock } from '../../clock/clock.js'
import { LockUsageError } from '../../errors.js'
import { describe } from '../../options/describe.js'
import type { SqlRow, SqlSession } from '../database.js'
import { isHidden } from '../errors.js'
import type { CheckedKey } from './row-key.js'
import { uniqueIndexesOf } from './show-create.js'

/** One column of one unique index, or a table without any. */
const POSTGRES =
  'select c.relkind::text as kind, i.indexrelid::text as idx, a.attname::text as col, null as type ' +
  'from (select to_regclass($1::text) as oid) t join pg_class c on c.oid = t.oid ' +
  'left join pg_index i on i.indrelid = c.oid and i.indisunique and i.indisvalid and i.indimmediate ' +
  'and i.indpred is null and i.indexprs is null ' +
  'left join pg_attribute a on a.attrelid = c.oid and a.attnum = any((i.indkey::int2[])[0:i.indnkeyatts - 1])'

/**
 * Not indexes that are kept as hashes, which lock the whole table as none would, nor those that are
 * ignored. A part of a column gets a name that no column can have, with a blank at the end.
 * @param schema as SQL says it. Two values of the client's are not compared: their collations may
 * be at odds.
 */
const mariadbQuestion = (schema: string): string =>
  "select t.engine as kind, s.index_name as idx, concat(s.column_name, if(s.sub_part is null, '', ' ')) as col, " +
  'c.data_type as type ' +
  'from information_schema.tables t left join information_schema.statistics s on s.table_schema = t.table_schema ' +
  'and s.table_name = t.table_name and s.non_unique = 0 ' +
  "and s.index_type = 'BTREE' and s.ignored = 'NO' " +
  'left join information_schema.columns c on c.table_schema = t.table_schema and c.table_name = t.table_name ' +
  `and c.column_name = s.column_name where t.table_schema = ${schema} and t.table_name = ?`

/** How long an index that was seen is believed in, in milliseconds. */
const BELIEVED_MS = 60_000

/** Indexes that were found, and when, for each connection or pool. */
const found = new WeakMap<object, Map<string, number>>()

/**
 * @throws LockUsageError when there is no such table, or no unique index over columns of the key.
 */
export async function checkUniqueKey(session: SqlSession, key: CheckedKey): Promise<void> {
  const seen = session.identity
    ? (found.get(session.identity) ?? new Map<string, number>())
    : undefined
  const subject = JSON.stringify([key.table, key.columns, key.values.map(kindOf)])
  const nowMs = systemClock.monotonicMs()
  if ((seen?.get(subject) ?? -Infinity) > nowMs - BELIEVED_MS) return
  const rows = await ask(session, key)
  if (rows.length === 0) {
    throw new LockUsageError(`There is no table ${key.table} that this user can see.`, {
      lock: key.text,
    })
  }
  if (session.dialect === 'mysql') checkEngine(rows, key)
  checkIndexes(session, key, rows)
  if (session.identity && seen) found.set(session.identity, seen.set(subject, nowMs))
}

async function ask(session: SqlSession, key: CheckedKey): Promise<SqlRow[]> {
  if (session.dialect === 'postgres') return withNames(await session.query(POSTGRES, [key.table]))
  const [version] = (await session.query('select version() as version', [])) as SqlRow[]
  return /mariadb/i.test(String(Object.values(version ?? {})[0]))
    ? askMariadb(session, key)
    : askMysql(session, key)
}

async function askMariadb(session: SqlSession, { path }: CheckedKey): Promise<SqlRow[]> {
  const [schema] = path.length > 1 ? path : []
  const name = path.at(-1) ?? ''
  const rows =
    schema === undefined
      ? await session.query(mariadbQuestion('database()'), [name])
      : await session.query(mariadbQuestion('?'), [schema, name])
  return withNames(rows)
}

async function askMysql(session: SqlSession, { table }: CheckedKey): Promise<SqlRow[]> {
  try {
    const [row] = (await session.query(`show create table ${table}`, [])) as SqlRow[]
    return uniqueIndexesOf(String(Object.values(row ?? {})[1]))
  } catch (error) {
    if (isHidden(error)) return []
    throw error
  }
}

/** Names columns by their positions, since a setting of the library may rename them. */
function withNames(rows: readonly unknown[]): SqlRow[] {
  return (rows as SqlRow[]).map((row) => {
    const [kind, idx, col, type] = Object.values(row)
    return { kind, idx, col, type }
  })
}

function checkEngine(rows: readonly SqlRow[], { table, text }: CheckedKey): void {
  const kind = rows[0]?.['kind']
  const engine = typeof kind === 'string' ? kind : 'a view'
  if (engine.toLowerCase() === 'innodb') return
  throw new LockUsageError(
    `${table} is no InnoDB table (${engine}): its rows cannot be locked one by one. ` +
      `Lock a table of the engine InnoDB: alter table ${table} engine = InnoDB.`,
    { lock: text },
  )
}

function checkIndexes({ dialect }: SqlSession, key: CheckedKey, rows: readonly SqlRow[]): void {
  const folded = (name: unknown): string =>
    dialect === 'mysql' ? String(name).toLowerCase() : String(name)
  const given = new Set(key.columns.map(folded))
  const indexed = rows.filter((row) => row['idx'] !== null)
  const covering = [...new Set(indexed.map(({ idx }) => idx))]
    .map((index) => indexed.filter(({ idx }) => idx === index))
    .find((columns) => columns.every(({ col }) => given.has(folded(col))))
  if (!covering) {
    const columns = key.columns.join(', ')
    throw new LockUsageError(
      `${key.table} has no unique index over (${columns}), so that a lock on this row would be one on many rows, or on all. ` +
        `Name the columns of a unique key, or make one: create unique index on ${key.table} (${columns}).`,
      { lock: key.text },
    )
  }
  for (const { col, type } of covering) {
    const value = key.values[key.columns.findIndex((column) => folded(column) === folded(col))]
    const needed = neededFor(String(type), kindOf(value))
    if (needed === undefined) continue
    throw new LockUsageError(
      `"${String(col)}" of ${key.table} is ${String(type)} and was compared with ${describe(value)}: MySQL could not use the ` +
        `index, and would lock the whole table. Give the value as ${needed}.`,
      { lock: key.text },
    )
  }
}

/**
 * Returns the kind of value that a lookup in a MySQL index over this type needs, or undefined where
 * the given kind will do. With another kind MySQL would convert the column.
 */
function neededFor(type: string, kind: string): string | undefined {
  if (/char|text/.test(type)) return kind === 'string' ? undefined : 'text'
  if (/binary|blob/.test(type))
    return kind === 'string' || kind === 'bytes' ? undefined : 'text or bytes'
  if (/int|decimal|float|double/.test(type))
    return kind === 'object' || kind === 'bytes' ? 'a number' : undefined
  return undefined
}

function kindOf(value: unknown): string {
  return value instanceof Uint8Array ? 'bytes' : typeof value
}
