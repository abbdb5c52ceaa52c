/** Transactions of `pg`. */
import { LockUsageError } from '../../errors.js'
import {
  checkHandle,
  rolledBack,
  type SqlSession,
  type TransactionalDatabase,
} from '../database.js'
import { checkNoOptions } from '../../options/known-keys.js'
import {
  transactionStatusOf,
  warnOfOpenTransaction,
  type WithTransactionStatus,
} from '../../stores/postgres/connection/transaction-status.js'
import { Access, revocableHandle, targetOf } from './revocable-handle.js'

/** A client of `pg`, checked out of its pool, after BEGIN. */
export interface PgTransaction {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[]; command?: string }>
  on?(event: 'error', listener: () => void): unknown
  off?(event: 'error', listener: () => void): unknown
}

/** As much of a pool of `pg` as is used. `C` is its client. */
export interface PgTransactionPool<C extends PgTransaction> {
  connect(lent: (error: Error | undefined, client: Lent<C> | undefined) => void): void
}

type Lent<C extends PgTransaction> = C & { release(error?: boolean): void }

/** What would take the connection out of the transaction's hands. */
const KEPT = ['release', 'end']

/** Transactions through a pool of `pg`. */
export function pgTransactions<C extends PgTransaction>(
  pool: PgTransactionPool<C>,
): TransactionalDatabase<C>
export function pgTransactions<C extends PgTransaction>(
  pool: PgTransactionPool<C>,
  extra?: unknown,
): TransactionalDatabase<C> {
  checkNoOptions('pgTransactions', extra)
  checkHandle(pool, 'A pool of pg', 'connect')
  // Its `connect` would fail, or connect a client that nothing closes.
  if ('connectionParameters' in pool && !('totalCount' in pool)) throw noPool()
  return {
    dialect: 'postgres',
    async transaction(work) {
      const client = await lendOutsideTransaction(pool)
      const access = new Access()
      let broken = true
      try {
        await client.query('begin')
        try {
          const result = await work(revocableHandle(client, access, KEPT))
          access.end()
          const { command } = await client.query('commit')
          broken = false
          // The server answers this when a statement had failed and the work swallowed its error.
          if (command === 'ROLLBACK') throw rolledBack()
          return result
        } catch (error) {
          access.end()
          // The first failure is the one to report.
          if (broken) await client.query('rollback').then(() => (broken = false), noted)
          throw error
        }
      } finally {
        client.off?.('error', noted)
        // What could neither be committed nor rolled back must not go back into the pool.
        client.release(broken)
      }
    },
    query: (tx, sql, values) => pgSession(tx).query(sql, values),
  }
}

/**
 * Lends a connection outside of a transaction. BEGIN would be part of the open transaction of a
 * program, and COMMIT would commit that. A connection inside of one returns to the pool as it was,
 * once another one is there: the pool would lend it again at once.
 * @throws LockUsageError when all connections of the pool are inside of one.
 */
async function lendOutsideTransaction<C extends PgTransaction>(
  pool: PgTransactionPool<C>,
): Promise<Lent<C>> {
  const inside: Lent<C>[] = []
  const { options } = pool as { readonly options?: { readonly max?: number } }
  try {
    for (;;) {
      const client = await lend(pool)
      if (!(await isInside(client))) return client
      inside.push(client)
      if (inside.length >= Math.min(options?.max ?? Infinity, MOST_BORROWED)) {
        throw new LockUsageError(
          'The connections of the pool are inside of transactions, which another one would commit. ' +
            'End each transaction before its connection returns to the pool.',
        )
      }
      warnOfOpenTransaction()
    }
  } finally {
    for (const client of inside) {
      client.off?.('error', noted)
      client.release()
    }
  }
}

/** How many connections inside of transactions are borrowed at once. */
const MOST_BORROWED = 20

async function isInside(client: Lent<PgTransaction>): Promise<boolean> {
  const seen = client as WithTransactionStatus
  let status = transactionStatusOf(seen)
  if (status === undefined && seen.connection) {
    // An earlier version of the library, which learns it from the next answer.
    try {
      await client.query('')
    } catch (error) {
      client.off?.('error', noted)
      client.release(true)
      throw error
    }
    status = transactionStatusOf(seen)
  }
  return status === 'T' || status === 'E'
}

/**
 * Lends a connection with an error listener. Without one, the loss of the connection between two
 * statements would end the process; the next statement reports it. A callback, since the loss can
 * arrive before a promise of the connection resolves.
 */
function lend<C extends PgTransaction>(pool: PgTransactionPool<C>): Promise<Lent<C>> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      if (!client) return reject(error)
      // A single client connects too, and could not be released after the commit.
      if (typeof client.release !== 'function') return reject(noPool())
      client.on?.('error', noted)
      resolve(client)
    })
  })
}

function noPool(): LockUsageError {
  return new LockUsageError(
    'pgTransactions needs a pool of pg, and not a single client: new Pool({ ... }).',
  )
}

export function pgSession(tx: PgTransaction): SqlSession {
  return {
    dialect: 'postgres',
    identity: targetOf(tx),
    query: async (sql, values) => (await tx.query(sql, [...values])).rows,
  }
}

/**
 * Returns a session of a client of `pg` that has begun a transaction. Outside of one, a lock would
 * last for one statement.
 * @throws LockUsageError for a pool, and for a client that has not begun. An object that is no
 * client of `pg` fails at its first statement, by its answer.
 */
export function checkedPgSession(tx: object): SqlSession {
  const status =
    'getTransactionStatus' in tx && typeof tx.getTransactionStatus === 'function'
      ? (tx.getTransactionStatus() as unknown)
      : undefined
  if ('totalCount' in tx || status === 'I') throw noTransaction()
  const session = pgSession(tx as PgTransaction)
  return {
    ...session,
    async query(sql, values) {
      const rows: unknown = await session.query(sql, values)
      if (!Array.isArray(rows)) throw noTransaction()
      return rows
    },
  }
}

function noTransaction(): LockUsageError {
  return new LockUsageError(
    'A transaction is needed here: a client of pg after BEGIN, as pgTransactions(pool).transaction(work) gives to work. ' +
      'Outside of one a lock would last for one statement.',
  )
}

/** As much of a pool of `pg` as is listened to. */
interface LendingPool {
  on(event: 'acquire', listener: (client: PgTransaction) => void): unknown
  on(event: 'release', listener: (error: unknown, client: PgTransaction) => void): unknown
}

const heard = new WeakSet<object>()

/**
 * As `lend` does for one connection, for all that `pool` lends from now on, on behalf of a library
 * that listens to none. Does nothing with anything else than a pool of `pg`.
 */
export function hearBreaks(pool: unknown): void {
  if (typeof pool !== 'object' || pool === null || !('totalCount' in pool) || heard.has(pool))
    return
  heard.add(pool)
  const lending = pool as object as LendingPool
  lending.on('acquire', (client) => client.on?.('error', noted))
  lending.on('release', (_error, client) => client.off?.('error', noted))
}

/** A connection that cannot roll back is broken, which its end does as well. */
function noted(): void {}
