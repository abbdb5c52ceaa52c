/** Examines a PostgreSQL database, for `holdfast doctor`. */
import { systemClock } from '../../clock/clock.js'
import { checkKeys } from '../../options/known-keys.js'
import { StoreUnavailableError } from '../../errors.js'
import type { PgPool } from './connection/pools.js'
import { explain } from './errors.js'
import { DEFAULT_SCHEMA, quoteSchema } from './rule/schema.js'

/** What `doctor` reports about a PostgreSQL server. */
export interface PostgresDiagnosis {
  /** Such as `15.18`. */
  readonly version: string
  readonly user: string
  /** A replica, or a default that refuses writes. */
  readonly takesNoWrites: boolean
  /** The default isolation level of this pool's transactions. */
  readonly isolation: string
  /** In the server's words; `0` is none. */
  readonly timeouts: Readonly<Record<'statement' | 'lock' | 'idleInTransaction', string>>
  /** Why a crash of the server may lose what was committed. */
  readonly notDurable: readonly string[]
  /**
   * How far the server's clock is ahead of this machine's, in milliseconds, and how exactly that is
   * known.
   */
  readonly clock: { readonly aheadMs: number; readonly withinMs: number }
  /** Whether a session is on another connection of the server from one transaction to the next. */
  readonly transactionPooler: boolean
  /** Tables and functions that do not exist. */
  readonly missing: readonly string[]
  /** Rights that the user lacks, such as `INSERT on holdfast.locks`. */
  readonly denied: readonly string[]
  /** The bytes that an identifier may have, and those of the channels that are listened on. */
  readonly identifiers: { readonly longest: number; readonly channel: number }
}

const TABLES = ['locks', 'holders', 'waiters', 'tombstones', 'guards', 'fences']
const TABLE_RIGHTS = ['SELECT', 'INSERT', 'UPDATE', 'DELETE']
/** Those that clients call on all connections. */
const ROUTINES = [
  'apply_batch_v1(jsonb)',
  'apply_one_v1(text,text,text,text,text,integer,integer,integer,double precision,boolean,double precision,text)',
  'list_locks_v1(text,text,integer)',
]
/** `holdfast_` and the id of the client. */
const CHANNEL_BYTES = 'holdfast_'.length + 36
/** Another program may take the connection first that a pooler has just got back. */
const POOLER_TRIES = 3

/** As much of a client of `pg` as is used. */
interface PooledConnection {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
  release(): void
}

/**
 * Returns the settings, rights and tables of a database. It takes two connections of the pool.
 * @throws LockError when the database does not answer.
 */
export async function diagnose(options: {
  readonly pool: PgPool
  readonly schema?: string
}): Promise<PostgresDiagnosis> {
  checkKeys('diagnose', options, { pool: 1, schema: 1 }, { store: 'postgres' })
  const { pool, schema = DEFAULT_SCHEMA } = options
  quoteSchema(schema)
  try {
    const { max } = pool.options as { readonly max?: number }
    if (max !== undefined && max < 2) throw tooSmall()
    return await lent(pool, (one) =>
      lent(pool, async (other) => ({
        ...(await examineServer(one)),
        clock: await compareClocks(one),
        ...(await examineSchema(one, schema)),
        transactionPooler: await changesConnections(one, other),
      })),
    )
  } catch (error) {
    throw explain(error, schema)
  }
}

/** Returns a session to the pool also after a failure: otherwise the pool would never end. */
async function lent<T>(
  pool: PgPool,
  work: (connection: PooledConnection) => Promise<T>,
): Promise<T> {
  const connection = (await pool.connect()) as PooledConnection
  try {
    return await work(connection)
  } finally {
    connection.release()
  }
}

function tooSmall(): StoreUnavailableError {
  return new StoreUnavailableError(
    'The check for a pooler takes two connections, and this pool has one. Give it a max of 2 or more.',
    { code: 'STORE_CONFIG', store: 'postgres' },
  )
}

async function first(
  connection: PooledConnection,
  text: string,
  values: unknown[] = [],
): Promise<Record<string, string>> {
  const { rows } = await connection.query(text, values)
  return rows[0] as Record<string, string>
}

async function examineServer(
  connection: PooledConnection,
): Promise<Omit<PostgresDiagnosis, 'clock' | 'missing' | 'denied' | 'transactionPooler'>> {
  const row = await first(
    connection,
    `select current_setting('server_version') as version, current_user::text as user,
      (pg_is_in_recovery() or current_setting('transaction_read_only') = 'on')::int::text as read_only,
      current_setting('transaction_isolation') as isolation, current_setting('statement_timeout') as statement,
      current_setting('lock_timeout') as lock, current_setting('idle_in_transaction_session_timeout') as idle,
      current_setting('synchronous_commit') as synchronous_commit, current_setting('fsync') as fsync,
      current_setting('max_identifier_length') as longest`,
  )
  return {
    version: (row['version'] ?? '').split(' ')[0] ?? '',
    user: row['user'] ?? '',
    takesNoWrites: row['read_only'] === '1',
    isolation: row['isolation'] ?? '',
    timeouts: {
      statement: row['statement'] ?? '',
      lock: row['lock'] ?? '',
      idleInTransaction: row['idle'] ?? '',
    },
    notDurable: ['synchronous_commit', 'fsync'].flatMap((name) =>
      row[name] === 'off' ? [`${name} is off`] : [],
    ),
    identifiers: { longest: Number(row['longest']), channel: CHANNEL_BYTES },
  }
}

async function compareClocks(connection: PooledConnection): Promise<PostgresDiagnosis['clock']> {
  const sentMs = systemClock.wallMs()
  const row = await first(
    connection,
    'select (extract(epoch from clock_timestamp()) * 1000)::text as now',
  )
  const withinMs = (systemClock.wallMs() - sentMs) / 2
  return { aheadMs: Number(row['now']) - sentMs - withinMs, withinMs }
}

/**
 * Whether a session changes its server connection between transactions, as a pooler makes it. Then
 * the transaction of the other session has taken the connection of this one.
 */
async function changesConnections(
  connection: PooledConnection,
  other: PooledConnection,
): Promise<boolean> {
  for (let tries = 0; tries < POOLER_TRIES; tries += 1) {
    const before = await backendOf(connection)
    await other.query('begin')
    try {
      // A pooler with one server connection would not answer before the transaction ends.
      if ((await backendOf(other)) === before || (await backendOf(connection)) !== before)
        return true
    } finally {
      await other.query('rollback')
    }
  }
  return false
}

async function backendOf(connection: PooledConnection): Promise<string | undefined> {
  return (await first(connection, 'select pg_backend_pid()::text as pid'))['pid']
}

async function examineSchema(
  connection: PooledConnection,
  schema: string,
): Promise<Pick<PostgresDiagnosis, 'missing' | 'denied'>> {
  // Everything as text, since the types of booleans and arrays depend on settings of the library.
  const { there, usage } = await first(
    connection,
    `select (n.nspname is not null)::int::text as there,
        coalesce(has_schema_privilege(n.oid, 'usage'), false)::int::text as usage
       from (select 1) one left join pg_namespace n on n.nspname = $1`,
    [schema],
  )
  if (there !== '1') return { missing: [`the schema ${schema}`], denied: [] }
  if (usage !== '1') return { missing: [], denied: [`USAGE on the schema ${schema}`] }
  const tables = await connection.query(
    `select t as name, (c.oid is not null)::int::text as there,
        array_to_string(array(select r from unnest($3::text[]) r where not has_table_privilege(c.oid, r)), ' ') as denied
       from unnest($2::text[]) t
       left join pg_class c on c.relname = t and c.relnamespace = (select oid from pg_namespace where nspname = $1)`,
    [schema, TABLES, TABLE_RIGHTS],
  )
  const routines = await connection.query(
    `select r as name, (to_regprocedure($1 || r) is not null)::int::text as there,
        case when not has_function_privilege(to_regprocedure($1 || r), 'execute') then 'EXECUTE' else '' end as denied
       from unnest($2::text[]) r`,
    [`${quoteSchema(schema)}.`, ROUTINES],
  )
  const found = [...tables.rows, ...routines.rows] as {
    name: string
    there: string
    denied: string
  }[]
  return {
    missing: found.filter(({ there }) => there !== '1').map(({ name }) => `${schema}.${name}`),
    denied: found.flatMap(({ name, there, denied }) =>
      there === '1' && denied !== ''
        ? denied.split(' ').map((right) => `${right} on ${schema}.${name}`)
        : [],
    ),
  }
}
