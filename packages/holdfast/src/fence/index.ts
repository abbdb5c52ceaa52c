/**
 * `holdfast/fence`: a protected resource in a database or in Redis remembers the largest token that
 * it has seen, and refuses a smaller one. It protects the resource when two clients believe that
 * they hold a lock, for any store of the lock.
 */
import { LockUsageError, StoreUnavailableError } from '../errors.js'
import type { Lease } from '../lease/hold/lease.js'
import { checkKeys, type KnownKeys } from '../options/known-keys.js'
import { checkName } from '../store/names.js'
import type { SqlSession } from '../transaction/database.js'
import { isNoTable } from '../transaction/errors.js'
import { sessionOf, type SqlTransaction } from '../transaction/session-of.js'
import { checkExclusive } from '../transaction/transaction.js'
import { hexOf } from '../stores/mysql/keys.js'
import { fenceStatements as mysqlFence } from './mysql.js'
import { fenceStatement as postgresFence } from './postgres.js'
import { StaleTokenError } from './errors.js'
import {
  checkCommands,
  checkKeyNames,
  fencedInRedis,
  isRedis,
  type FenceClient,
  type RedisCommand,
} from './redis.js'

export type { FenceClient, RedisCommand } from './redis.js'

/** Where the fence keeps the largest token of each resource. */
export interface FenceOptions {
  /** The schema that `postgresSchema()` made. Default `holdfast`. */
  readonly schema?: string | undefined
  /**
   * The prefix that `mysqlSchema()` was given, by default `holdfast_`; in Redis what stands before
   * keys, by default `hf`.
   */
  readonly prefix?: string | undefined
}

/** How `fencedWrite` runs its commands. */
export interface FencedWriteOptions extends Pick<FenceOptions, 'prefix'> {
  /**
   * All keys of the commands, for a server that refuses scripts which touch other keys than those
   * of their call. Default: `fencedWrite` asks such a server for them (COMMAND GETKEYS).
   */
  readonly keys?: readonly string[] | undefined
}

const WRITE_KEYS: KnownKeys<FencedWriteOptions> = { prefix: 1, keys: 1 }
const FENCE_KEYS: KnownKeys<FenceOptions> = { schema: 1, prefix: 1 }

/**
 * A transaction of `pg`, `postgres`, `mysql2/promise`, Kysely, Drizzle, Knex, Prisma or TypeORM.
 */
export type FenceTransaction = SqlTransaction

/**
 * Notes the token of a lease with a resource, in the caller's transaction, and refuses a stale one.
 * Other writers of the resource wait until this transaction ends, so let it end soon.
 *
 * Call it before you read what decides the write: from then on earlier holders are refused.
 *
 * A client of Redis has no such transactions. With one, a later holder may write between this call
 * and the next write, so write with `fencedWrite`, which checks and writes in one step.
 * @param resource the name of what is written under the lock, of up to 512 bytes
 * @throws StaleTokenError when the resource has seen a larger token, or the same one from another
 * owner. Nothing was written; roll back.
 * @throws LockUsageError for the lease of a reader or a part of a semaphore, whose tokens do not
 * tell who comes later.
 * @throws StoreUnavailableError (`STORE_CONFIG`) where the tables were not made.
 */
export async function assertFence(
  tx: FenceTransaction | FenceClient,
  lease: Lease,
  resource: string,
  options: FenceOptions = {},
): Promise<void> {
  checkKeys('assertFence', options, FENCE_KEYS)
  const values = valuesOf(lease, resource)
  if (!(await isNewest(tx, values, lease.name, options))) throw stale(lease, resource)
}

/**
 * Runs commands in Redis if the token of a lease is not late, all in one step. As with MULTI, a
 * command that fails does not undo those before it. In a Cluster the keys must be in the slot of
 * the resource: write `{resource}` into them.
 * @returns the replies
 * @throws As `assertFence` does. When the token is stale nothing was written.
 * @throws LockUsageError when a command failed, with its number. The writes before it and the token
 * stay, and the commands after it did not run.
 * @throws StoreUnavailableError without an answer within 5 seconds, or when the connection broke.
 * The outcome is unknown then, and the commands may still run later. They run once, even if a
 * client library sends them twice.
 */
export async function fencedWrite(
  client: FenceClient,
  lease: Lease,
  resource: string,
  commands: readonly RedisCommand[],
  options: FencedWriteOptions = {},
): Promise<readonly unknown[]> {
  checkKeys('fencedWrite', options, WRITE_KEYS)
  const values = valuesOf(lease, resource)
  checkCommands(commands)
  if (options.keys !== undefined) checkKeyNames(options.keys)
  const replies = await fencedInRedis(client, values, commands, { lock: lease.name, ...options })
  if (!replies) throw stale(lease, resource)
  return replies
}

type FenceValues = readonly [resource: string, token: string, owner: string]

function valuesOf(lease: Lease, resource: string): FenceValues {
  checkName(resource, 'resource')
  checkExclusive(lease)
  const token: bigint | undefined = lease.token
  if (token === undefined) {
    throw new LockUsageError(
      `The lease on "${lease.name}" has no token: its store does not fence.`,
      {
        lock: lease.name,
      },
    )
  }
  return [resource, String(token), lease.claimId]
}

function stale(lease: Lease, resource: string): StaleTokenError {
  return new StaleTokenError(
    `"${resource}" has seen a token that is larger than ${String(lease.token)}, or the same one ` +
      `from another owner. The lease on "${lease.name}" has ended, and another holder has written. ` +
      'Roll back.',
    { lock: lease.name },
  )
}

async function isNewest(
  tx: FenceTransaction | FenceClient,
  values: FenceValues,
  lock: string,
  options: FenceOptions,
): Promise<boolean> {
  if (isRedis(tx))
    return (await fencedInRedis(tx, values, [], { lock, prefix: options.prefix })) !== undefined
  const session = sessionOf(tx)
  // Outside of a transaction the resource would only be locked while this statement runs.
  await session.checkBegun?.()
  try {
    return await isNewestIn(session, values, options)
  } catch (error) {
    throw isNoTable(error) ? unmigrated(session, lock, error) : error
  }
}

async function isNewestIn(
  session: SqlSession,
  values: FenceValues,
  { schema, prefix }: FenceOptions,
): Promise<boolean> {
  if (session.dialect === 'postgres')
    return (await session.query(postgresFence(schema), values)).length > 0
  const [write, read] = mysqlFence(prefix)
  const [resource, ...rest] = values
  await session.query(write, [hexOf(resource), ...rest])
  return (await session.query(read, [hexOf(resource), ...rest])).length > 0
}

function unmigrated({ dialect }: SqlSession, lock: string, cause: unknown): StoreUnavailableError {
  const [script, option] =
    dialect === 'postgres' ? ['postgresSchema', 'schema'] : ['mysqlSchema', 'prefix']
  return new StoreUnavailableError(
    `The table of fences is not in this database. Run holdfast migrate --store URL or the SQL of ` +
      `${script}() once, or correct the option ${option}.`,
    { code: 'STORE_CONFIG', lock, cause },
  )
}
