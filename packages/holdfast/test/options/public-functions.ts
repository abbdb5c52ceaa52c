/** All public functions that take options, or could be given some by mistake. */
import {
  createLocks,
  logLockEvents,
  onLockEvent,
  type Election,
  type Lockable,
  type Locks,
  type MultiLease,
  type MultiLock,
  type Mutex,
  type ReadWriteLock,
  type Semaphore,
  type SingleFlight,
  type StripedLock,
  type WriteLease,
} from 'holdfast'
import { locksConsole } from 'holdfast/console'
import { oncePerTick as wrapTick, runCoordinator } from 'holdfast/cron'
import { embeddedStore, lockPath, type PathLock } from 'holdfast/embedded'
import { etcdStore } from 'holdfast/etcd'
import { assertFence, fencedWrite } from 'holdfast/fence'
import { memoryStore } from 'holdfast/memory'
import { instrumentHoldfast } from 'holdfast/opentelemetry'
import { exportPrometheus, holdfastMetrics } from 'holdfast/prometheus'
import { mysqlStore, mysqlTransactions } from 'holdfast/mysql'
import { pgTransactions, postgresJsTransactions, postgresStore } from 'holdfast/postgres'
import { redisStore } from 'holdfast/redis'
import { redlockStore } from 'holdfast/redlock'
import {
  advisoryLock,
  createRow,
  drizzleTransactions,
  knexTransactions,
  kyselyTransactions,
  lockRow,
  optimistic,
  prismaTransactions,
  tryAdvisoryLock,
  tryLockRow,
  typeormTransactions,
} from 'holdfast/transaction'
import { testingStore } from 'holdfast/testing'
import { openStore } from 'holdfast/url'
import { zookeeperStore } from 'holdfast/zookeeper'
import { Redis } from 'ioredis6'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import postgres from 'postgres'

export type Keys = Readonly<Record<string, unknown>>

export const locks = createLocks(memoryStore())
const work = (): number => 1
const never = (): Promise<never> => Promise.reject(new Error('not reached'))
const lease = await locks.mutex('held').acquire()
const writer = await locks.readWriteLock('written').write.acquire()
const mutex = locks.mutex('a')
const reader = locks.readWriteLock('b').read
const semaphore = locks.semaphore('s', { permits: 4 })
const follower = locks.semaphore('s', { permits: 4, onMismatch: 'follow' }).withWeight(1)
const multi = locks.multi([mutex])
const leases = await locks.multi([locks.mutex('m')]).acquire()
const striped = locks.striped('p', { stripes: 4 })
const election = locks.election('e')
/** Its options are refused before the folder is looked at. */
const path = lockPath('/nowhere/file')
export const client = new Redis({ lazyConnect: true })
export const pool = new Pool()
export const mysqlPool = createPool({ host: '127.0.0.1' })
const session = { dialect: 'postgres' as const, query: () => Promise.resolve([]) }
const db = { ...session, transaction: () => Promise.reject(new Error('not reached')) }
/** Looks like an instance of each library: its options are refused before it is used. */
const library = {
  $queryRawUnsafe: work,
  $connect: work,
  $transaction: work,
  _activeProvider: 'mysql',
} as never
const tables = createLocks(postgresStore({ pool }))
const row = { table: 'stock', key: { id: 9 } }
export const connect = '127.0.0.1:1'
export const endpoints = [connect]

/** An argument that the types do not have. */
const extra = (options: Keys): [] => [options] as unknown as []

/** Why a function needs no check of options. */
type Reason = string
export type Call = (options: Keys) => unknown
/** One call, or several under the names that errors give them. */
type Calls = Reason | Call | Readonly<Record<string, Call>>
type FunctionsOf<T> = {
  [K in keyof T & string]: T[K] extends (...values: never) => unknown ? K : never
}[keyof T & string]
/** Has each function of a module or object: the type check of the tests refuses a missing one. */
type Table<T> = Readonly<Record<FunctionsOf<T>, Calls>>

const PURE: Reason = 'returns what it makes of one value'
const OF_A_NAME: Reason = 'takes a name, and refuses any other value'

/** By the entry of the package. */
export const ENTRIES = {
  '.': {
    channelName: PURE,
    createLocks: (options) => createLocks(memoryStore(), options),
    findDeadlocks: PURE,
    isLockError: PURE,
    logLockEvents: {
      logLockEvents: (options) => logLockEvents(console, options)(),
      'levels of logLockEvents': (options) => logLockEvents(console, { levels: options })(),
    },
    onLockEvent: (options) => onLockEvent('lost', work, ...extra(options)),
  } satisfies Table<typeof import('holdfast')>,
  './store': { checkName: OF_A_NAME, isPromise: PURE } satisfies Table<
    typeof import('holdfast/store')
  >,
  './memory': { memoryStore: (options) => memoryStore(options) } satisfies Table<
    typeof import('holdfast/memory')
  >,
  './embedded': {
    defaultDirectory: 'takes nothing',
    embeddedStore: (options) => embeddedStore(options),
    lockPath: (options) => lockPath('/nowhere/file', options),
  } satisfies Table<typeof import('holdfast/embedded')>,
  './redis': {
    redisStore: (options) => redisStore({ client, ...options }),
  } satisfies Table<typeof import('holdfast/redis')>,
  './redlock': {
    redlockStore: (options) => redlockStore({ clients: [client], ...options }),
  } satisfies Table<typeof import('holdfast/redlock')>,
  './zookeeper': {
    zookeeperStore: {
      zookeeperStore: (options) => zookeeperStore({ connect, ...options }),
      'auth of zookeeperStore': (options) =>
        zookeeperStore({
          connect,
          auth: { scheme: 'digest', user: 'u', password: 'p', ...options },
        }),
    },
  } satisfies Table<typeof import('holdfast/zookeeper')>,
  './etcd': {
    etcdStore: {
      etcdStore: (options) => etcdStore({ endpoints, ...options }),
      'credentials of etcdStore': (options) =>
        etcdStore({ endpoints, credentials: { user: 'u', password: 'p', ...options } }),
      'tls of etcdStore': (options) => etcdStore({ endpoints, tls: options }),
    },
  } satisfies Table<typeof import('holdfast/etcd')>,
  './postgres': {
    migratePostgres: OF_A_NAME,
    pgTransactions: (options) => pgTransactions(pool, ...extra(options)),
    postgresJsTransactions: (options) => postgresJsTransactions(postgres(), ...extra(options)),
    postgresSchema: OF_A_NAME,
    postgresStore: (options) => postgresStore({ pool, ...options }),
  } satisfies Table<typeof import('holdfast/postgres')>,
  './mysql': {
    migrateMysql: OF_A_NAME,
    mysqlSchema: OF_A_NAME,
    mysqlStore: (options) => mysqlStore({ pool: mysqlPool, ...options }),
    mysqlTransactions: (options) => mysqlTransactions(mysqlPool, ...extra(options)),
  } satisfies Table<typeof import('holdfast/mysql')>,
  './transaction': {
    advisoryKey: PURE,
    advisoryLock: (options) => advisoryLock(session, 'a', options),
    createRow: {
      createRow: (options) => createRow(row, { db, ...options }),
      'the row of createRow': (options) => createRow({ ...row, ...options }, { db }),
    },
    drizzleTransactions: (options) => drizzleTransactions(library, ...extra(options)),
    knexTransactions: (options) => knexTransactions(library, ...extra(options)),
    kyselyTransactions: (options) => kyselyTransactions(library, ...extra(options)),
    lockRow: {
      lockRow: (options) => lockRow(session, row, options),
      'the row of lockRow': (options) => lockRow(session, { ...row, ...options }),
      'create of lockRow': (options) => lockRow(session, row, { create: { db, ...options } }),
    },
    mysqlTransactions: (options) => mysqlTransactions(mysqlPool, ...extra(options)),
    optimistic: {
      optimistic: (options) => optimistic(db, row, () => undefined, options),
      'the row of optimistic': (options) => optimistic(db, { ...row, ...options }, () => undefined),
    },
    pgTransactions: (options) => pgTransactions(pool, ...extra(options)),
    postgresJsTransactions: (options) => postgresJsTransactions(postgres(), ...extra(options)),
    prismaTransactions: (options) => prismaTransactions(library, options),
    tryAdvisoryLock: (options) => tryAdvisoryLock(session, 'a', options),
    tryLockRow: (options) => tryLockRow(session, row, options),
    typeormTransactions: (options) => typeormTransactions(library, ...extra(options)),
  } satisfies Table<typeof import('holdfast/transaction')>,
  './fence': {
    assertFence: (options) => assertFence(session, lease, 'stock', options),
    fencedWrite: (options) => fencedWrite(client, lease, 'stock', [['PING']], options),
  } satisfies Table<typeof import('holdfast/fence')>,
  './url': {
    openStore: (options) => openStore('embedded:/nowhere', options),
  } satisfies Table<typeof import('holdfast/url')>,
  './opentelemetry': {
    instrumentHoldfast: (options) => instrumentHoldfast(options)(),
  } satisfies Table<typeof import('holdfast/opentelemetry')>,
  './prometheus': {
    exportPrometheus: (options) => exportPrometheus(locks, options).stop(),
    holdfastMetrics: (options) => holdfastMetrics(options)(),
  } satisfies Table<typeof import('holdfast/prometheus')>,
  './cron': {
    oncePerTick: (options) => wrapTick(locks, work, { atLeastMs: 1, ...options }),
    runCoordinator: (options) => runCoordinator(locks, { atLeastMs: 1, ...options }),
    slotOf: 'takes a job',
  } satisfies Table<typeof import('holdfast/cron')>,
  './console': {
    locksConsole: (options) =>
      locksConsole({ locks, authorize: () => false as const, ...options }).close(),
  } satisfies Table<typeof import('holdfast/console')>,
  './testing': {
    planFor: PURE,
    planForFirst: PURE,
    settle: 'takes nothing',
    testingStore: (options) => testingStore(options),
  } satisfies Table<typeof import('holdfast/testing')>,
}

/** The verbs of a store are missing: the library calls them. */
const OBJECTS = {
  Locks: {
    assertHeld: (options) => locks.assertHeld('a', ...extra(options)),
    close: (options) => createLocks(memoryStore()).close(options),
    current: (options) => locks.current('a', ...extra(options)),
    detached: (options) => locks.detached(work, ...extra(options)),
    election: (options) => locks.election('a', options),
    inspect: (options) => locks.inspect(options),
    multi: (options) => locks.multi([mutex], ...extra(options)),
    mutex: (options) => locks.mutex('a', options),
    oncePerTick: (options) => locks.oncePerTick('a', work, { atLeastMs: 1, ...options }),
    ping: (options) => locks.ping(options),
    readWriteLock: (options) => locks.readWriteLock('a', options),
    releaseHandle: (options) => locks.releaseHandle('', ...extra(options)),
    renewHandle: (options) => locks.renewHandle('', ...extra(options)),
    semaphore: (options) => locks.semaphore('a', { permits: 4, ...options }),
    singleFlight: (options) => locks.singleFlight('a', options),
    steal: (options) => locks.steal('a', options),
    striped: (options) => locks.striped('a', { stripes: 4, ...options }),
    transaction: (options) => tables.transaction(tables.mutex('a'), db, never, options),
  } satisfies Table<Locks>,
  Mutex: {
    acquire: {
      'acquire of a free lock': (options) => mutex.acquire(options),
      'acquire of a held lock': (options) => locks.mutex('held').acquire(options),
    },
    adopt: (options) => mutex.adopt('', ...extra(options)),
    inspect: (options) => mutex.inspect(...extra(options)),
    run: (options) => mutex.run(work, options),
    tryAcquire: {
      'tryAcquire of a free lock': (options) => mutex.tryAcquire(options),
      'tryAcquire of a held lock': (options) => locks.mutex('held').tryAcquire(options),
    },
  } satisfies Table<Mutex>,
  Reader: {
    acquire: (options) => reader.acquire(options),
    adopt: (options) => reader.adopt('', ...extra(options)),
    inspect: (options) => reader.inspect(...extra(options)),
    run: (options) => reader.run(work, options),
    tryAcquire: (options) => reader.tryAcquire(options),
  } satisfies Table<Lockable>,
  PathLock: {
    acquire: (options) => path.acquire(options),
    adopt: (options) => path.adopt('', ...extra(options)),
    inspect: (options) => path.inspect(...extra(options)),
    run: (options) => path.run(work, options),
    tryAcquire: (options) => path.tryAcquire(options),
  } satisfies Table<PathLock>,
  ReadWriteLock: {
    inspect: (options) => locks.readWriteLock('a').inspect(...extra(options)),
  } satisfies Table<ReadWriteLock>,
  Semaphore: {
    acquire: (options) => semaphore.acquire(options),
    adopt: (options) => semaphore.adopt('', ...extra(options)),
    inspect: (options) => semaphore.inspect(...extra(options)),
    run: (options) => semaphore.run(work, options),
    tryAcquire: (options) => semaphore.tryAcquire(options),
    withWeight: (options) => semaphore.withWeight(1, ...extra(options)),
  } satisfies Table<Semaphore>,
  FollowingLock: {
    acquire: (options) => follower.acquire(options),
    adopt: (options) => follower.adopt('', ...extra(options)),
    inspect: (options) => follower.inspect(...extra(options)),
    run: (options) => follower.run(work, options),
    tryAcquire: (options) => follower.tryAcquire(options),
  } satisfies Table<Lockable>,
  MultiLock: {
    acquire: (options) => multi.acquire(options),
    run: (options) => multi.run(work, options),
    tryAcquire: (options) => multi.tryAcquire(options),
  } satisfies Table<MultiLock>,
  StripedLock: {
    at: (options) => striped.at(0, ...extra(options)),
    for: (options) => striped.for('key', ...extra(options)),
    indexOf: (options) => striped.indexOf('key', ...extra(options)),
  } satisfies Table<StripedLock>,
  Election: {
    campaign: (options) => election.campaign(options),
    lead: (options) => election.lead(work, options),
    leader: (options) => election.leader(...extra(options)),
    observe: (options) => election.observe(options),
    on: (options) => election.on('lost', work, ...extra(options)),
    resign: (options) => election.resign(...extra(options)),
  } satisfies Table<Election>,
  SingleFlight: {
    run: {
      'run of singleFlight': (options) =>
        locks.singleFlight('f').run(work, { read: () => undefined, ...options }),
    },
  } satisfies Table<SingleFlight>,
  Lease: {
    annotate: {
      annotate: (options) => lease.annotate(options),
      'the group of annotate': (options) =>
        lease.annotate({ group: { pgid: 1, startTime: '1', ...options } }),
    },
    assertHeld: (options) => lease.assertHeld(...extra(options)),
    downgrade: (options) => writer.downgrade(...extra(options)),
    ensure: (options) => lease.ensure(1, ...extra(options)),
    export: (options) => lease.export(...extra(options)),
    release: (options) => lease.release(...extra(options)),
    renew: (options) => lease.renew(options),
    run: { 'run of a lease': (options) => lease.run(work, ...extra(options)) },
  } satisfies Table<WriteLease>,
  MultiLease: {
    assertHeld: (options) => leases.assertHeld(...extra(options)),
    ensure: (options) => leases.ensure(1, ...extra(options)),
    release: (options) => leases.release(...extra(options)),
    renew: (options) => leases.renew(options),
  } satisfies Table<MultiLease>,
}

/** Each public function, called with additional options. */
export const CALLS: Readonly<Record<string, Call>> = Object.fromEntries(
  Object.entries({ ...ENTRIES, ...OBJECTS }).flatMap(([group, table]) =>
    Object.entries(table as Readonly<Record<string, Calls>>).flatMap(([name, calls]) => {
      if (typeof calls === 'string') return []
      const named = typeof calls === 'function' ? { [name]: calls } : calls
      return Object.entries(named).map(([what, call]) => [`${group} ${what}`, call] as const)
    }),
  ),
)
