/** Transactions of Prisma, over its adapters for PostgreSQL and MariaDB. */
import {
  checkHandle,
  checkDialect,
  refuseTransaction,
  type Dialect,
  type SqlSession,
  type TransactionalDatabase,
} from '../database.js'
import { checkKeys, type KnownKeys } from '../../options/known-keys.js'
import { checkedTransactions } from '../open-transaction.js'

/** What `prisma.$transaction` gives to its callback. */
export interface PrismaTransaction {
  $queryRawUnsafe(sql: string, ...values: unknown[]): PromiseLike<unknown>
}

/**
 * How long Prisma lets a transaction wait for a connection (2 000) and last (5 000), in
 * milliseconds.
 */
export interface PrismaTransactionOptions {
  /** How long a transaction may wait for a connection. */
  readonly maxWait?: number | undefined
  /** How long a transaction may last. */
  readonly timeout?: number | undefined
}

const KEYS: KnownKeys<PrismaTransactionOptions> = { maxWait: 1, timeout: 1 }

/** As much of a Prisma client as is used. */
export interface PrismaDatabase<Tx extends PrismaTransaction> {
  $transaction(
    work: (tx: Tx) => Promise<unknown>,
    options?: PrismaTransactionOptions,
  ): Promise<unknown>
}

/**
 * Transactions through a Prisma client. Prisma ends a transaction after 5 s unless `timeout` says
 * otherwise.
 */
export function prismaTransactions<Tx extends PrismaTransaction>(
  prisma: PrismaDatabase<Tx>,
  options?: PrismaTransactionOptions,
): TransactionalDatabase<Tx> {
  if (options !== undefined) checkKeys('prismaTransactions', options, KEYS)
  checkHandle(prisma, 'A Prisma client', '$queryRawUnsafe')
  const dialect = dialectOf(prisma)
  // Only the client itself can be connected.
  refuseTransaction(!('$connect' in prisma), 'Prisma')
  return checkedTransactions({
    dialect,
    async transaction<T>(work: (tx: Tx) => Promise<T>) {
      const boxed = async (tx: Tx): Promise<{ result: T }> => ({ result: await work(tx) })
      return ((await prisma.$transaction(boxed, options)) as { result: T }).result
    },
    query: async (tx, sql, values) => prismaSession(tx).query(sql, values),
  })
}

export function prismaSession(tx: PrismaTransaction): SqlSession {
  return {
    dialect: dialectOf(tx),
    async query(sql, values) {
      const rows = await tx.$queryRawUnsafe(sql, ...values)
      return Array.isArray(rows) ? rows : []
    },
  }
}

/** Of a client and of a transaction; not in its types, but what its own extensions go by. */
function dialectOf(prisma: object): Dialect {
  const { _activeProvider: provider } = prisma as { _activeProvider?: unknown }
  return checkDialect(provider === 'postgresql' ? 'postgres' : provider, 'Prisma')
}
