/** Examines a MariaDB or MySQL database, for `holdfast doctor`. */
import { systemClock } from '../../clock/clock.js'
import { checkKeys } from '../../options/known-keys.js'
import {
  poolOf,
  statement,
  type MysqlCallbackPool,
  type MysqlConnection,
  type MysqlPool,
} from './connection/clients.js'
import { explain, isDenied, isUnmigrated } from './errors.js'
import { checkPrefix, DEFAULT_PREFIX } from './rule/schema.js'

/** What `doctor` reports about a MySQL or MariaDB server. */
export interface MysqlDiagnosis {
  readonly product: 'MariaDB' | 'MySQL'
  /** Such as `10.11.19`. */
  readonly version: string
  /** As `user@host`. Only clients of the same user can wake each other. */
  readonly user: string
  readonly takesNoWrites: boolean
  /** The default isolation level of this session. */
  readonly isolation: string
  /**
   * How long a session or a transaction may be idle, and how long a wait for a row may last, in
   * seconds. Only MariaDB limits idle transactions; 0 is no limit.
   */
  readonly timeouts: {
    readonly idleS: number
    readonly idleTransactionS: number | undefined
    readonly rowLockS: number
  }
  /** Why a crash of the server may lose what was committed. */
  readonly notDurable: readonly string[]
  /**
   * How far the server's clock is ahead of this machine's, in milliseconds, and how exactly that is
   * known.
   */
  readonly clock: { readonly aheadMs: number; readonly withinMs: number }
  /** Whether a proxy answers for the server. */
  readonly proxy: boolean
  /** Tables and procedures that do not exist. */
  readonly missing: readonly string[]
  /** What the user may not do. */
  readonly denied: readonly string[]
  /** The bytes that the name of a lock may have. */
  readonly nameBytes: number | undefined
}

const TABLES = ['locks', 'holders', 'waiters', 'tombstones', 'steals', 'guards', 'fences']

/**
 * Returns the settings, rights and tables of a database. It takes one connection of the pool.
 * @throws LockError when the database does not answer.
 */
export async function diagnose(options: {
  readonly pool: MysqlPool | MysqlCallbackPool
  readonly prefix?: string
}): Promise<MysqlDiagnosis> {
  checkKeys('diagnose', options, { pool: 1, prefix: 1 }, { store: 'mysql' })
  const { pool, prefix = DEFAULT_PREFIX } = options
  checkPrefix(prefix)
  try {
    const connection = await poolOf(pool).getConnection()
    try {
      const server = await examineServer(connection)
      return {
        ...server,
        clock: await compareClocks(connection),
        ...(await examineTables(connection, prefix, !server.takesNoWrites)),
        nameBytes: await longestName(connection, prefix),
      }
    } finally {
      connection.release()
    }
  } catch (error) {
    throw explain(error, prefix)
  }
}

type Fields = Readonly<Record<string, unknown>>

async function first(connection: MysqlConnection, sql: string): Promise<Fields> {
  const [rows] = await connection.query(statement(sql))
  return (rows as Fields[])[0] ?? {}
}

async function variables(connection: MysqlConnection): Promise<ReadonlyMap<string, string>> {
  const [rows] = await connection.query(statement('show session variables'))
  return new Map(
    (rows as { Variable_name: string; Value: string }[]).map((row) => [
      row.Variable_name,
      row.Value,
    ]),
  )
}

async function examineServer(
  connection: MysqlConnection,
): Promise<Omit<MysqlDiagnosis, 'clock' | 'missing' | 'denied' | 'nameBytes'>> {
  const set = await variables(connection)
  const of = (name: string): string => set.get(name) ?? ''
  const { user, id } = await first(
    connection,
    'select current_user() as user, connection_id() as id',
  )
  const idleTransaction = set.get('idle_transaction_timeout')
  const flush = of('innodb_flush_log_at_trx_commit')
  // The id that the server gave to the connection. A proxy that shares connections gives its own.
  const threadId = 'threadId' in connection ? connection.threadId : undefined
  return {
    product: of('version').includes('MariaDB') ? 'MariaDB' : 'MySQL',
    version: of('version').split('-')[0] ?? '',
    user: String(user),
    takesNoWrites:
      of('read_only') === 'ON' ||
      ['ON', '1'].includes(of('transaction_read_only') || of('tx_read_only')),
    isolation: of('transaction_isolation') || of('tx_isolation'),
    timeouts: {
      idleS: Number(of('wait_timeout')),
      idleTransactionS: idleTransaction === undefined ? undefined : Number(idleTransaction),
      rowLockS: Number(of('innodb_lock_wait_timeout')),
    },
    notDurable: flush === '1' ? [] : [`innodb_flush_log_at_trx_commit is ${flush}`],
    proxy: typeof threadId === 'number' && Number(id) !== threadId,
  }
}

async function compareClocks(connection: MysqlConnection): Promise<MysqlDiagnosis['clock']> {
  const sentMs = systemClock.wallMs()
  const { us } = await first(
    connection,
    `select timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)) as us`,
  )
  const withinMs = (systemClock.wallMs() - sentMs) / 2
  return { aheadMs: Number(us) / 1000 - sentMs - withinMs, withinMs }
}

/**
 * Tries statements that change nothing: the server checks rights before it looks for rows. In
 * safe-updates mode it demands a key.
 */
async function examineTables(
  connection: MysqlConnection,
  prefix: string,
  writable: boolean,
): Promise<Pick<MysqlDiagnosis, 'missing' | 'denied'>> {
  const [missing, denied]: [string[], string[]] = [[], []]
  const attempt = async (right: string, object: string, sql: string): Promise<void> => {
    try {
      await connection.query(statement(sql))
    } catch (error) {
      if (isUnmigrated(error)) missing.push(object)
      else if (isDenied(error)) denied.push(`${right} on ${object}`)
      else throw error
    }
  }
  for (const name of TABLES) {
    const table = `${prefix}${name}`
    const column = name === 'fences' ? 'resource' : 'name'
    await attempt('SELECT', table, `select ${column} from ${table} limit 0`)
    if (missing.includes(table) || !writable) continue
    await attempt('INSERT', table, `insert into ${table} select * from ${table} where false`)
    await attempt(
      'UPDATE',
      table,
      `update ${table} set ${column} = ${column} where ${column} = '' limit 0`,
    )
    await attempt('DELETE', table, `delete from ${table} where ${column} = '' limit 0`)
  }
  if (writable)
    await attempt(
      'EXECUTE',
      `${prefix}apply_batch_v1`,
      `call ${prefix}apply_batch_v1('[]', '[]', false)`,
    )
  return { missing, denied }
}

async function longestName(
  connection: MysqlConnection,
  prefix: string,
): Promise<number | undefined> {
  const { bytes } = await first(
    connection,
    'select character_octet_length as bytes from information_schema.columns where table_schema = database() ' +
      `and table_name = '${prefix}locks' and column_name = 'name'`,
  )
  return bytes === undefined ? undefined : Number(bytes)
}
