/** A key that a call does not know is refused at once, whether the lock is free or not. */
import { createLocks, LockUsageError, type Locks } from 'holdfast'
import { diagnose as diagnoseEmbedded, embeddedStore } from 'holdfast/embedded'
import { diagnose as diagnoseEtcd, etcdStore } from 'holdfast/etcd'
import { assertFence, fencedWrite } from 'holdfast/fence'
import { memoryStore } from 'holdfast/memory'
import { diagnose as diagnoseMysql, mysqlStore } from 'holdfast/mysql'
import { diagnose as diagnosePostgres, postgresStore } from 'holdfast/postgres'
import { aclRule, diagnose as diagnoseRedis, redisStore } from 'holdfast/redis'
import { redlockStore } from 'holdfast/redlock'
import {
  advisoryLock,
  createRow,
  lockRow,
  optimistic,
  prismaTransactions,
  tryAdvisoryLock,
  tryLockRow,
} from 'holdfast/transaction'
import { openStore } from 'holdfast/url'
import { diagnose as diagnoseZooKeeper, examineServers, zookeeperStore } from 'holdfast/zookeeper'
import { Redis } from 'ioredis6'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import postgres from 'postgres'
import { createClient } from 'redis6'
import { describe, expect, test } from 'vitest'

type Keys = Readonly<Record<string, unknown>>

const locks = createLocks(memoryStore())
const work = (): number => 1
const load = { read: () => undefined }
const lease = await locks.mutex('held').acquire()
const client = new Redis({ lazyConnect: true })
const pool = new Pool()
const mysqlPool = createPool({ host: '127.0.0.1' })
const session = { dialect: 'postgres' as const, query: () => Promise.resolve([]) }
const db = { ...session, transaction: () => Promise.reject(new Error('not reached')) }
const prisma = {
  $queryRawUnsafe: work,
  $connect: work,
  $transaction: work,
  _activeProvider: 'mysql',
}
const row = { table: 'stock', key: { id: 9 } }
const connect = '127.0.0.1:1'
const endpoints = [connect]

/** An argument that the types do not have. */
const extra = (options: Keys): [] => [options] as unknown as []

/** Each public function, called with additional options. */
const CALLS: Readonly<Record<string, (options: Keys) => unknown>> = {
  createLocks: (options) => createLocks(memoryStore(), options),
  mutex: (options) => locks.mutex('a', options),
  readWriteLock: (options) => locks.readWriteLock('a', options),
  semaphore: (options) => locks.semaphore('a', { permits: 4, ...options }),
  striped: (options) => locks.striped('a', { stripes: 4, ...options }),
  election: (options) => locks.election('a', options),
  singleFlight: (options) => locks.singleFlight('a', options),
  multi: (options) => locks.multi([locks.mutex('a')], ...extra(options)),
  'acquire of a free lock': (options) => locks.mutex('a').acquire(options),
  'acquire of a held lock': (options) => locks.mutex('held').acquire(options),
  'tryAcquire of a free lock': (options) => locks.mutex('a').tryAcquire(...extra(options)),
  'tryAcquire of a held lock': (options) => locks.mutex('held').tryAcquire(...extra(options)),
  run: (options) => locks.mutex('a').run(work, options),
  'acquire of a reader': (options) => locks.readWriteLock('a').read.acquire(options),
  'acquire of a semaphore': (options) => locks.semaphore('s', { permits: 4 }).acquire(options),
  'tryAcquire of a semaphore': (options) =>
    locks.semaphore('s', { permits: 4 }).tryAcquire(options),
  'run of a semaphore': (options) => locks.semaphore('s', { permits: 4 }).run(work, options),
  'acquire of several locks': (options) => locks.multi([locks.mutex('a')]).acquire(options),
  'tryAcquire of several locks': (options) =>
    locks.multi([locks.mutex('a')]).tryAcquire(...extra(options)),
  'run of several locks': (options) => locks.multi([locks.mutex('a')]).run(work, options),
  campaign: (options) => locks.election('e').campaign(options),
  'run of singleFlight': (options) => locks.singleFlight('f').run(work, { ...load, ...options }),
  steal: (options) => locks.steal('a', options),
  inspect: (options) => locks.inspect(options),
  ping: (options) => locks.ping(options),
  close: (options) => createLocks(memoryStore()).close(options),
  renew: (options) => lease.renew(options),
  annotate: (options) => lease.annotate(options),
  'the group of annotate': (options) =>
    lease.annotate({ group: { pgid: 1, startTime: '1', ...options } }),
  openStore: (options) => openStore('embedded:/nowhere', options),
  memoryStore: (options) => memoryStore(options),
  embeddedStore: (options) => embeddedStore(options),
  redisStore: (options) => redisStore({ client, ...options }),
  redlockStore: (options) => redlockStore({ clients: [client], ...options }),
  zookeeperStore: (options) => zookeeperStore({ connect, ...options }),
  'auth of zookeeperStore': (options) =>
    zookeeperStore({
      connect,
      auth: { scheme: 'digest', user: 'u', password: 'p', ...options },
    }),
  etcdStore: (options) => etcdStore({ endpoints, ...options }),
  'credentials of etcdStore': (options) =>
    etcdStore({ endpoints, credentials: { user: 'u', password: 'p', ...options } }),
  'tls of etcdStore': (options) => etcdStore({ endpoints, tls: options }),
  postgresStore: (options) => postgresStore({ pool, ...options }),
  mysqlStore: (options) => mysqlStore({ pool: mysqlPool, ...options }),
  'diagnose of embedded': (options) => diagnoseEmbedded(options),
  'diagnose of redis': (options) => diagnoseRedis({ client, ...options }),
  'diagnose of zookeeper': (options) => diagnoseZooKeeper({ connect, ...options }),
  examineServers: (options) => examineServers({ connect, ...options }),
  'diagnose of etcd': (options) => diagnoseEtcd({ endpoints, ...options }),
  'diagnose of postgres': (options) => diagnosePostgres({ pool, ...options }),
  'diagnose of mysql': (options) => diagnoseMysql({ pool: mysqlPool, ...options }),
  aclRule: (options) => aclRule({ version: '7.0.0', ...options }),
  lockRow: (options) => lockRow(session, row, options),
  'the row of lockRow': (options) => lockRow(session, { ...row, ...options }),
  'create of lockRow': (options) => lockRow(session, row, { create: { db, ...options } }),
  tryLockRow: (options) => tryLockRow(session, row, options),
  createRow: (options) => createRow(row, { db, ...options }),
  'the row of createRow': (options) => createRow({ ...row, ...options }, { db }),
  advisoryLock: (options) => advisoryLock(session, 'a', options),
  tryAdvisoryLock: (options) => tryAdvisoryLock(session, 'a', options),
  optimistic: (options) => optimistic(db, row, () => undefined, options),
  'the row of optimistic': (options) => optimistic(db, { ...row, ...options }, () => undefined),
  prismaTransactions: (options) => prismaTransactions(prisma as never, options),
  assertFence: (options) => assertFence(session, lease, 'stock', options),
  fencedWrite: (options) => fencedWrite(client, lease, 'stock', [['PING']], options),
}

async function refusal(call: () => unknown): Promise<LockUsageError> {
  try {
    await call()
  } catch (error) {
    expect(error).toBeInstanceOf(LockUsageError)
    return error as LockUsageError
  }
  throw new Error('it was accepted')
}

describe.each(Object.entries(CALLS))('%s', (what, call) => {
  const name = what.replace(/ of (a|several|redis|embedded|etcd|zookeeper|postgres|mysql)\b.*/, '')

  test.each(['zzz', 'constructor', 'toString'])('refuses %s', async (key) => {
    const { message, code } = await refusal(() => call({ [key]: undefined }))
    expect(code).toBe('LOCK_USAGE')
    expect(message).toContain(`There is no option "${key}" for ${name}. `)
  })

  test('refuses a list and a number instead of options', async () => {
    if (/^(acquire|tryAcquire|run|mutex|createLocks|steal|inspect|close)$/.test(name)) {
      for (const wrong of [['a'], 5]) {
        const { message } = await refusal(() => call(wrong as never))
        expect(message).toMatch(/ takes (\{ \w+ \}, not|no options)/)
      }
    }
  })
})

describe('the message', () => {
  const cases: readonly [call: string, key: string, advice: string][] = [
    ['createLocks', 'ttl', 'Did you mean "ttlMs"?'],
    ['createLocks', 'ttlms', 'Did you mean "ttlMs"?'],
    ['createLocks', 'nameSpace', 'Did you mean "namespace"?'],
    ['createLocks', 'waitMS', 'Did you mean "waitMs"?'],
    ['createLocks', 'lable', 'Did you mean "label"?'],
    ['createLocks', 'client', 'Give it to the store, such as redisStore({ client }).'],
    ['mutex', 'waitMs', 'Give it to acquire, tryAcquire or run.'],
    ['mutex', 'namespace', 'Give it to createLocks.'],
    [
      'acquire of a free lock',
      'awaitRelease',
      'Give it to createLocks, the lock, such as mutex(name, options), or run.',
    ],
    ['acquire of a free lock', 'timeout', 'Did you mean "waitMs"?'],
    ['acquire of a free lock', 'abortSignal', 'Did you mean "signal"?'],
    ['acquire of a free lock', 'weight', 'Give it to acquire, tryAcquire or run of a semaphore.'],
    ['acquire of a semaphore', 'weigth', 'Did you mean "weight"?'],
    ['semaphore', 'weight', 'Give it to acquire, tryAcquire or run of a semaphore.'],
    ['steal', 'force', 'It takes reason, now.'],
    ['inspect', 'prefx', 'Did you mean "prefix"?'],
    ['close', 'grace', 'Did you mean "graceMs"?'],
    ['embeddedStore', 'dir', 'Did you mean "directory"?'],
    ['redisStore', 'minReplica', 'Did you mean "minReplicas"?'],
    ['redisStore', 'keyPrefix', 'Give it to the ioredis client.'],
    ['redisStore', 'timeout', 'Did you mean "requestTimeoutMs"?'],
    ['etcdStore', 'credential', 'Did you mean "credentials"?'],
    ['zookeeperStore', 'tickTime', 'Did you mean "tickMs"?'],
    ['postgresStore', 'automigrate', 'Did you mean "autoMigrate"?'],
    ['advisoryLock', 'share', 'Did you mean "shared"?'],
    ['optimistic', 'retries', 'Did you mean "tries"?'],
    ['optimistic', 'version', 'Give it to the row, such as { table, key, version }.'],
  ]
  test.each(cases)('%s with %s: %s', async (call, key, advice) => {
    const { message } = await refusal(() => CALLS[call]?.({ [key]: 5 }))
    expect(message.endsWith(` ${advice}`), message).toBe(true)
  })

  test('names the lock and the store', async () => {
    const free = await refusal(() => locks.mutex('a').acquire({ x: 1 } as object))
    expect(free).toMatchObject({ lock: 'a' })
    expect(await refusal(() => redisStore({ client, x: 1 } as never))).toMatchObject({
      store: 'redis',
    })
  })

  const clients: readonly [name: string, call: () => unknown, message: string][] = [
    ['ioredis', () => redisStore(client as never), 'redisStore takes { client }, not the client'],
    [
      'node-redis',
      () => redisStore(createClient() as never),
      'redisStore takes { client }, not the client itself.',
    ],
    [
      'clients',
      () => redlockStore([client] as never),
      'redlockStore takes { clients }, not an array.',
    ],
    [
      'pg',
      () => postgresStore(pool as never),
      'postgresStore takes { pool }, not the pool itself.',
    ],
    [
      'postgres',
      () => postgresStore(postgres() as never),
      'postgresStore takes { pool }, not the pool itself.',
    ],
    ['mysql2', () => mysqlStore(mysqlPool), 'mysqlStore takes { pool }, not the pool itself.'],
    [
      'a path',
      () => embeddedStore('/tmp' as never),
      'embeddedStore takes { directory }, not "/tmp".',
    ],
    ['servers', () => zookeeperStore(connect as never), 'zookeeperStore takes { connect }, not'],
    [
      'endpoints',
      () => etcdStore(endpoints as never),
      'etcdStore takes { endpoints }, not an array',
    ],
    [
      'nothing',
      () => redisStore(undefined as never),
      'redisStore takes { client }, not undefined.',
    ],
    [
      'a signal',
      () => locks.mutex('a').acquire(new AbortController().signal as object),
      'acquire takes { signal }, not the signal itself.',
    ],
    ['a client', () => createLocks(client as never), 'redisStore({ client })'],
  ]
  test.each(clients)('%s instead of options', async (_name, call, message) => {
    expect((await refusal(call)).message).toContain(message)
  })
})

test('known keys with the value undefined mean the default', async () => {
  const held: Locks = createLocks(memoryStore(), { ttlMs: undefined, waitMs: undefined } as object)
  const own = await held
    .mutex('a', { renew: undefined } as object)
    .acquire({ signal: undefined } as object)
  expect(await own.release()).toBe('released')
})

test('inherited keys count as well, but not those of every object', async () => {
  const options = Object.create({ waitMs: 0, wrong: 1 }) as object
  expect((await refusal(() => locks.mutex('held').acquire(options))).message).toMatch(/"wrong"/)
  Reflect.set(Object.prototype, 'polluted', 1)
  try {
    await (await locks.mutex('polluted').acquire({ waitMs: 0 })).release()
  } finally {
    Reflect.deleteProperty(Object.prototype, 'polluted')
  }
})
