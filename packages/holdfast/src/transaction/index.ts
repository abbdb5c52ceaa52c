/**
 * `holdfast/transaction`: database handles of every known client library, for `locks.transaction`.
 * It also has operations for a transaction alone: locks that live as long as it does, and
 * optimistic changes.
 */
export type { Dialect, SqlSession, TransactionalDatabase } from './database.js'
export type { SqlTransaction } from './session-of.js'
export { pgTransactions } from './libraries/pg.js'
export { postgresJsTransactions } from './libraries/postgres-js.js'
export { mysqlTransactions } from './libraries/mysql2.js'
export { kyselyTransactions } from './libraries/kysely.js'
export { drizzleTransactions } from './libraries/drizzle.js'
export { knexTransactions } from './libraries/knex.js'
export { prismaTransactions, type PrismaTransactionOptions } from './libraries/prisma.js'
export { typeormTransactions } from './libraries/typeorm.js'
export { lockRow, tryLockRow, type LockRowOptions } from './rows/lock-row.js'
export { createRow, type CreateRow } from './rows/missing.js'
export type { RowKey } from './rows/row-key.js'
export {
  advisoryKey,
  advisoryLock,
  tryAdvisoryLock,
  type AdvisoryLockOptions,
} from './rows/advisory-lock.js'
export {
  optimistic,
  type Change,
  type OptimisticOptions,
  type VersionedRow,
} from './rows/optimistic.js'
