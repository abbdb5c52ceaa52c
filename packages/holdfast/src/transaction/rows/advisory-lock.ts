/** PostgreSQL's advisory locks that belong to a transaction: a lock on a name, without a row. */
import { createHash } from 'node:crypto'
import { LockTimeoutError, UnsupportedLockError } from '../../errors.js'
import { checkWait } from '../../options/lock-options.js'
import { checkKeys, type KnownKeys } from '../../options/known-keys.js'
import { checkName } from '../../store/names.js'
import type { SqlSession } from '../database.js'
import { sessionOf, type SqlTransaction } from '../session-of.js'
import { isLockTimeout } from '../errors.js'
import { oneAtATime } from './one-at-a-time.js'
import { adviceOn, withinWait } from './within-wait.js'

/** The options of `advisoryLock`. */
export interface AdvisoryLockOptions {
  /** Beside others who share it, instead of alone. Default false. */
  readonly shared?: boolean | undefined
  /** As that of `lockRow`. */
  readonly waitMs?: number | undefined
}

const TRY_KEYS: KnownKeys<Pick<AdvisoryLockOptions, 'shared'>> = { shared: 1 }
const ADVISORY_KEYS: KnownKeys<AdvisoryLockOptions> = { waitMs: 1, ...TRY_KEYS }

/**
 * Locks a name until the transaction ends, on PostgreSQL alone (`pg_advisory_xact_lock`). Names are
 * hashed to 64 bits: two that meet wait for each other without need. A transaction may take it
 * several times.
 * @throws LockTimeoutError when it was busy for longer than `waitMs`; as with `lockRow` the
 * transaction continues.
 * @throws UnsupportedLockError on MySQL and MariaDB, whose named locks do not belong to
 * transactions.
 */
export async function advisoryLock(
  tx: SqlTransaction,
  name: string,
  options: AdvisoryLockOptions = {},
): Promise<void> {
  checkKeys('advisoryLock', options, ADVISORY_KEYS)
  const session = checked(tx, name)
  const waitMs = checkWait(options.waitMs, Infinity)
  const advice = adviceOn(waitMs)
  if (waitMs === 0) {
    if (await oneAtATime(tx, () => attempt(session, name, options))) return
    throw new LockTimeoutError(waitMs, { lock: name, advice })
  }
  const take = `select pg_advisory_xact_lock${suffix(options)}($1::text::bigint)::text as done`
  try {
    await oneAtATime(tx, () =>
      withinWait(session, waitMs, (inner) => inner.query(take, [advisoryKey(name)])),
    )
  } catch (error) {
    if (isLockTimeout(error))
      throw new LockTimeoutError(waitMs, { lock: name, advice, cause: error })
    throw error
  }
}

/** As `advisoryLock`, but resolves to false when the name is locked. */
export async function tryAdvisoryLock(
  tx: SqlTransaction,
  name: string,
  options: Pick<AdvisoryLockOptions, 'shared'> = {},
): Promise<boolean> {
  checkKeys('tryAdvisoryLock', options, TRY_KEYS)
  const session = checked(tx, name)
  return oneAtATime(tx, () => attempt(session, name, options))
}

/**
 * The key of a name: programs that are not written in JavaScript can make it too. The first 64 bits
 * of SHA-256.
 */
export function advisoryKey(name: string): string {
  return String(createHash('sha256').update(name).digest().readBigInt64BE())
}

async function attempt(
  session: SqlSession,
  name: string,
  options: Pick<AdvisoryLockOptions, 'shared'>,
): Promise<boolean> {
  // By whether there is a row: what a library makes of a boolean, and of the name of a column, can
  // be set.
  const take = `select 1 as taken where pg_try_advisory_xact_lock${suffix(options)}($1::text::bigint)`
  return (await session.query(take, [advisoryKey(name)])).length > 0
}

function suffix({ shared = false }: Pick<AdvisoryLockOptions, 'shared'>): string {
  return shared ? '_shared' : ''
}

function checked(tx: SqlTransaction, name: string): SqlSession {
  checkName(name)
  const session = sessionOf(tx)
  if (session.dialect === 'postgres') return session
  throw new UnsupportedLockError(
    'MySQL and MariaDB have no advisory locks that belong to a transaction. Lock a row with lockRow, or cover the ' +
      'transaction with locks.transaction.',
    { lock: name, store: 'mysql' },
  )
}
