/**
 * `holdfast/fence`: a protected resource in a database remembers the largest token that it has seen, and refuses a
 * smaller one. This is what protects when two believe to hold a lock, whatever store the lock is in.
 */
import { LockUsageError, StaleTokenError } from '../errors.js'
import type { Lease } from '../lease/lease.js'
import { checkName } from '../store/names.js'
import { sessionOf, type SqlTransaction } from '../transaction/session-of.js'
import { checkExclusive } from '../transaction/transaction.js'
import { fenceStatements as mysqlFence } from './mysql.js'
import { fenceStatement as postgresFence } from './postgres.js'

export interface FenceOptions {
  /** The schema that `postgresSchema()` made. Default `holdfast`. */
  readonly schema?: string
  /** The prefix that `mysqlSchema()` was given. Default `holdfast_`. */
  readonly prefix?: string
}

/** A transaction of `pg`, `postgres`, `mysql2/promise`, Kysely, Drizzle, Knex, Prisma or TypeORM. */
export type FenceTransaction = SqlTransaction

/**
 * Notes the token of a lease with a resource, in the caller's transaction, and refuses one that comes too late. Whoever
 * else writes to the resource waits until this transaction ends; let it end soon.
 * @param resource any name of up to 512 bytes: what is written to under the lock
 * @throws StaleTokenError when the resource has seen a larger token, or the same one from another owner. Nothing was
 *   written; roll back.
 * @throws LockUsageError for the lease of a reader or a part of a semaphore, whose tokens do not tell who comes later.
 */
export async function assertFence(
  tx: FenceTransaction,
  lease: Lease,
  resource: string,
  options: FenceOptions = {},
): Promise<void> {
  checkName(resource, 'resource')
  checkExclusive(lease)
  const token: bigint | undefined = lease.token
  if (token === undefined) {
    throw new LockUsageError(`The lease on "${lease.name}" has no token: its store does not fence.`, {
      lock: lease.name,
    })
  }
  if (await isNewest(tx, [resource, String(token), lease.claimId], options)) return
  throw new StaleTokenError(
    `"${resource}" has seen a token that is larger than ${token}, or the same one from another owner: the lease on ` +
      `"${lease.name}" is over, and another holder has been at work. Roll back.`,
    { lock: lease.name },
  )
}

async function isNewest(
  tx: FenceTransaction,
  values: readonly [resource: string, token: string, owner: string],
  { schema, prefix }: FenceOptions,
): Promise<boolean> {
  const session = sessionOf(tx)
  if (session.dialect === 'postgres') return (await session.query(postgresFence(schema), values)).length > 0
  const [write, read] = mysqlFence(prefix)
  await session.query(write, values)
  return (await session.query(read, values)).length > 0
}
