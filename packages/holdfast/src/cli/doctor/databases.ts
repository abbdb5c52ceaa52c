/** Checks a database: version, proxies, schema, rights, isolation, timeouts and clock. */
import type { MysqlDiagnosis } from '../../stores/mysql/diagnose.js'
import type { PostgresDiagnosis } from '../../stores/postgres/diagnose.js'
import { formatDuration } from '../args/duration.js'
import { examineMysql, examinePostgres } from '../stores/databases.js'
import type { StoreLocation } from '../stores/locate.js'
import { failure, ok, warning, type Finding } from './check.js'

/** The first versions that have every feature of the routines. */
const OLDEST = { PostgreSQL: '12.0', MariaDB: '10.6', MySQL: '8.0.29' } as const
/** A larger difference confuses readers of logs, and suggests that one clock will be set. */
const CLOCK_MS = 1000
/** Holdfast's own limit. */
const NAME_BYTES = 512

export async function checkPostgres(location: StoreLocation): Promise<Finding[]> {
  try {
    return describePostgres(await examinePostgres(location))
  } catch (error) {
    return [failure('database', error)]
  }
}

export async function checkMysql(location: StoreLocation): Promise<Finding[]> {
  try {
    return describeMysql(await examineMysql(location))
  } catch (error) {
    return [failure('database', error)]
  }
}

function describePostgres(found: PostgresDiagnosis): Finding[] {
  const { version, takesNoWrites, transactionPooler, isolation, timeouts, identifiers } = found
  const { statement, lock, idleInTransaction } = timeouts
  return [
    versionOf('PostgreSQL', version),
    ...primary(takesNoWrites),
    transactionPooler
      ? warning(
          'pooler',
          'a pooler in transaction mode is in between: locks work, but waiters poll once a second. ' +
            'Connect directly for wake-ups',
        )
      : ok('pooler', 'no pooler in transaction mode is in between'),
    ...rights(found),
    isolation === 'read committed'
      ? ok('isolation', isolation)
      : config(
          'isolation',
          `${isolation}: locks need default_transaction_isolation = 'read committed'`,
        ),
    ok(
      'timeouts',
      `statement ${statement}, lock ${lock}, idle in transaction ${idleInTransaction} (0 is none)`,
    ),
    ...durability(found),
    clock(found),
    identifiers.channel <= identifiers.longest
      ? ok(
          'names',
          `locks up to ${NAME_BYTES} bytes, channels ${identifiers.channel} of ${identifiers.longest} bytes`,
        )
      : config(
          'names',
          `identifiers of ${identifiers.longest} bytes are too short for ${identifiers.channel}`,
        ),
  ]
}

function describeMysql(found: MysqlDiagnosis): Finding[] {
  const { product, version, user, takesNoWrites, proxy, isolation, nameBytes } = found
  return [
    versionOf(product, version),
    ...primary(takesNoWrites),
    proxy
      ? warning('pooler', 'a proxy is in between: waiters that get no wake-up poll once a second')
      : ok('pooler', 'no proxy is in between'),
    ok('user', `${user}; all programs must connect as the same user to wake each other`),
    ...rights(found),
    ok('isolation', `${isolation}; the store chooses its own`),
    timeoutsOf(found),
    ...durability(found),
    clock(found),
    ...(nameBytes === undefined || nameBytes >= NAME_BYTES
      ? [ok('names', `locks up to ${NAME_BYTES} bytes`)]
      : [
          config(
            'names',
            `names are cut after ${nameBytes} bytes of ${NAME_BYTES}: the table is not Holdfast's`,
          ),
        ]),
  ]
}

function timeoutsOf({ timeouts }: MysqlDiagnosis): Finding {
  const { idleS, idleTransactionS, rowLockS } = timeouts
  const text = `idle session ${idleS} s, idle transaction ${idleTransactionS ?? 0} s (0 is none), row lock ${rowLockS} s`
  if (idleTransactionS !== undefined && idleTransactionS > 0) return ok('timeouts', text)
  const remedy =
    idleTransactionS === undefined ? 'a shorter wait_timeout' : 'idle_transaction_timeout'
  return warning(
    'timeouts',
    `${text}: a program that stops inside a transaction keeps its lock for that long. Set ${remedy}`,
  )
}

function versionOf(product: keyof typeof OLDEST, version: string): Finding {
  const oldest = OLDEST[product]
  const text = `${product} ${version}`
  return version.localeCompare(oldest, 'en', { numeric: true }) >= 0
    ? ok('version', text)
    : config('version', `${text}: ${oldest} or later is needed`)
}

function primary(takesNoWrites: boolean): Finding[] {
  if (!takesNoWrites) return []
  return [
    config(
      'primary',
      'the server takes no writes: it is a replica, or read-only. Connect to the primary',
    ),
  ]
}

function rights({ missing, denied }: Pick<PostgresDiagnosis, 'missing' | 'denied'>): Finding[] {
  if (missing.length > 0) {
    return [config('schema', `${missing.join(', ')} not found. Run: holdfast migrate --store URL`)]
  }
  if (denied.length > 0) {
    return [
      failure('privileges', { code: 'STORE_AUTH', message: `the user lacks ${denied.join(', ')}` }),
    ]
  }
  return [ok('privileges', 'the tables and routines are there, and may be used')]
}

function durability({ notDurable }: Pick<PostgresDiagnosis, 'notDurable'>): Finding[] {
  if (notDurable.length === 0) return [ok('durability', 'what is granted is on the disk')]
  return [warning('durability', `${notDurable.join(', ')}: a crash of the server may lose a grant`)]
}

function clock({ clock: { aheadMs, withinMs } }: Pick<PostgresDiagnosis, 'clock'>): Finding {
  const differsMs = Math.max(0, Math.abs(aheadMs) - withinMs)
  const side = aheadMs < 0 ? 'behind' : 'ahead of'
  const text = `the server's is ${formatDuration(Math.abs(aheadMs))} ${side} this machine's; leases end by the server's`
  return differsMs > CLOCK_MS ? warning('store clock', text) : ok('store clock', text)
}

function config(check: string, message: string): Finding {
  return failure(check, { code: 'STORE_CONFIG', message })
}
