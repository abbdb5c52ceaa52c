/** A statement that waits for a lock, and for how long. */
import type { SqlSession } from '../database.js'

const SAVEPOINT = 'holdfast_wait'
/** The longest wait that PostgreSQL can count, in milliseconds. */
const LONGEST_MS = 2 ** 31 - 1

/**
 * Runs `work`, whose statement fails when it has waited for a lock for `waitMs`. With Infinity the
 * server's own limit applies. The transaction continues after that, with its former limit.
 */
export function withinWait<T>(
  session: SqlSession,
  waitMs: number,
  work: (session: SqlSession) => Promise<T>,
): Promise<T> {
  if (waitMs === Infinity) return work(session)
  return session.dialect === 'postgres'
    ? onPostgres(session, waitMs, work)
    : onMysql(session, waitMs, work)
}

/** Runs `work` in a savepoint: a failed statement would abort the transaction. */
async function onPostgres<T>(
  session: SqlSession,
  waitMs: number,
  work: (session: SqlSession) => Promise<T>,
): Promise<T> {
  const limited = async (inner: SqlSession): Promise<T> => {
    // The server keeps the former limit, since a setting of the library may rename columns of an
    // answer. The statement notes it before it changes it.
    const note =
      "set_config('holdfast.lock_timeout', current_setting('lock_timeout'), true) is not null"
    const limit = String(Math.min(LONGEST_MS, Math.max(1, Math.ceil(waitMs))))
    await inner.query(`select set_config('lock_timeout', $1::text, ${note}) as now`, [limit])
    const result = await work(inner)
    const before = "current_setting('holdfast.lock_timeout')"
    await inner.query(`select set_config('lock_timeout', ${before}, true) as now`, [])
    return result
  }
  if (session.savepoint) return session.savepoint(limited)
  await session.query(`savepoint ${SAVEPOINT}`, [])
  try {
    const result = await limited(session)
    await session.query(`release savepoint ${SAVEPOINT}`, [])
    return result
  } catch (error) {
    await session.query(`rollback to savepoint ${SAVEPOINT}`, [])
    await session.query(`release savepoint ${SAVEPOINT}`, [])
    throw error
  }
}

/** Only the statement fails. The limit belongs to the connection, which others use after us. */
async function onMysql<T>(
  session: SqlSession,
  waitMs: number,
  work: (session: SqlSession) => Promise<T>,
): Promise<T> {
  const seconds = Math.min(LONGEST_MS / 2000, Math.max(1, Math.ceil(waitMs / 1000)))
  // One limit is for rows, and the other for tables, which another session may alter or lock.
  const limits = ['innodb_lock_wait_timeout', 'lock_wait_timeout']
  const note = limits.map(
    (limit) => `@holdfast_${limit} = @@${limit}, ${limit} = ${Math.floor(seconds)}`,
  )
  await session.query(`set ${note.join(', ')}`, [])
  const before = limits.map((limit) => `${limit} = @holdfast_${limit}`)
  const restore = (): Promise<unknown> => session.query(`set ${before.join(', ')}`, [])
  let result: T
  try {
    result = await work(session)
  } catch (error) {
    // If this fails too, then for the same reason: the connection is broken, and its limit gone
    // with it.
    await restore().catch(() => undefined)
    throw error
  }
  await restore()
  return result
}

/**
 * What to do about a wait that came to its end. With Infinity it was the server's own limit that
 * ended it.
 */
export function adviceOn(waitMs: number): string {
  const more =
    waitMs === Infinity
      ? 'Raise that limit (lock_timeout, innodb_lock_wait_timeout)'
      : 'Wait longer (waitMs)'
  return `Another transaction has it. ${more}, or try again later.`
}
