/** A key that a call does not know is refused at once, whether the lock is free or not. */
import { createLocks, LockUsageError } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'
import { etcdStore } from 'holdfast/etcd'
import { mysqlStore } from 'holdfast/mysql'
import { postgresStore } from 'holdfast/postgres'
import { redisStore } from 'holdfast/redis'
import { redlockStore } from 'holdfast/redlock'
import { zookeeperStore } from 'holdfast/zookeeper'
import postgres from 'postgres'
import { createClient } from 'redis6'
import { describe, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import {
  CALLS,
  client,
  connect,
  endpoints,
  ENTRIES,
  locks,
  mysqlPool,
  pool,
} from './public-functions.js'

async function refusal(call: () => unknown): Promise<LockUsageError> {
  try {
    await call()
  } catch (error) {
    expect(error).toBeInstanceOf(LockUsageError)
    return error as LockUsageError
  }
  throw new Error('it was accepted')
}

test('each entry of the package is in the table', () => {
  // What is internal promises nothing.
  const others = ['./package.json', './internal']
  const entries = Object.keys(manifest.exports).filter((entry) => !others.includes(entry))
  expect(Object.keys(ENTRIES)).toEqual(entries)
})

describe.each(Object.entries(CALLS))('%s', (what, call) => {
  const name = what.replace(/^\S+ /, '').replace(/ of a (free|held) lock$/, '')

  test.each(['zzz', 'constructor', 'toString'])('refuses %s', async (key) => {
    const { message, code } = await refusal(() => call({ [key]: undefined }))
    expect(code).toBe('LOCK_USAGE')
    expect(message).toContain(`There is no option "${key}" for ${name}. `)
  })

  test('refuses a list and a number instead of options', async () => {
    if (
      /^(acquire|tryAcquire|run|mutex|createLocks|steal|close)$/.test(name) ||
      what === 'Locks inspect'
    ) {
      for (const wrong of [['a'], 5]) {
        const { message } = await refusal(() => call(wrong as never))
        expect(message).toMatch(/ takes (\{ \w+ \}, not|no options)/)
      }
    }
  })
})

describe('the message', () => {
  const cases: readonly [call: string, key: string, advice: string][] = [
    ['. createLocks', 'ttl', 'Did you mean "ttlMs"?'],
    ['. createLocks', 'ttlms', 'Did you mean "ttlMs"?'],
    ['. createLocks', 'nameSpace', 'Did you mean "namespace"?'],
    ['. createLocks', 'waitMS', 'Did you mean "waitMs"?'],
    ['. createLocks', 'lable', 'Did you mean "label"?'],
    ['. createLocks', 'client', 'Give it to the store, such as redisStore({ client }).'],
    ['Locks mutex', 'waitMs', 'Give it to acquire, tryAcquire or run.'],
    ['Locks mutex', 'namespace', 'Give it to createLocks.'],
    [
      'Mutex acquire of a free lock',
      'awaitRelease',
      'Give it to createLocks, the lock, such as mutex(name, options), or run.',
    ],
    ['Mutex acquire of a free lock', 'timeout', 'Did you mean "waitMs"?'],
    ['Mutex acquire of a free lock', 'lockTimeout', 'Did you mean "ttlMs"?'],
    ['Mutex acquire of a free lock', 'acquireTimeout', 'Did you mean "waitMs"?'],
    ['Mutex acquire of a free lock', 'retryCount', 'Did you mean "waitMs"?'],
    ['Mutex acquire of a free lock', 'refreshInterval', 'Did you mean "renew"?'],
    ['Mutex acquire of a free lock', 'abortSignal', 'Did you mean "signal"?'],
    [
      'Mutex acquire of a free lock',
      'weight',
      'Give it to acquire, tryAcquire or run of a semaphore.',
    ],
    ['Semaphore acquire', 'weigth', 'Did you mean "weight"?'],
    ['Locks semaphore', 'weight', 'Give it to acquire, tryAcquire or run of a semaphore.'],
    ['Locks steal', 'force', 'It takes claim, reason, now.'],
    ['Locks inspect', 'prefx', 'Did you mean "prefix"?'],
    ['Locks close', 'grace', 'Did you mean "graceMs"?'],
    ['./embedded embeddedStore', 'dir', 'Did you mean "directory"?'],
    ['./redis redisStore', 'minReplica', 'Did you mean "minReplicas"?'],
    ['./redis redisStore', 'keyPrefix', 'Give it to the ioredis client.'],
    ['./redis redisStore', 'timeout', 'Did you mean "requestTimeoutMs"?'],
    ['./etcd etcdStore', 'credential', 'Did you mean "credentials"?'],
    ['./etcd etcdStore', 'keyPrefix', 'Did you mean "prefix"?'],
    ['./etcd etcdStore', 'url', 'Did you mean "endpoints"?'],
    ['./etcd etcdStore', 'client', 'It takes endpoints, prefix, credentials, tls.'],
    ['./zookeeper zookeeperStore', 'prefix', 'It takes connect, auth, tickMs, connectTimeoutMs.'],
    ['./etcd etcdStore', 'ttl', 'It takes endpoints, prefix, credentials, tls.'],
    ['./zookeeper zookeeperStore', 'tickTime', 'Did you mean "tickMs"?'],
    ['./postgres postgresStore', 'automigrate', 'Did you mean "autoMigrate"?'],
    ['./transaction advisoryLock', 'share', 'Did you mean "shared"?'],
    ['./transaction optimistic', 'retries', 'Did you mean "tries"?'],
    ['./transaction optimistic', 'version', 'Give it to the row, such as { table, key, version }.'],
    ['Mutex adopt', 'waitMs', 'Give it to acquire, tryAcquire or run.'],
    ['Mutex adopt', 'label', 'Give it to createLocks.'],
    [
      'Mutex adopt',
      'ttl',
      'It takes none. Give "ttlMs" to createLocks, the lock, such as mutex(name, options), or acquire, tryAcquire or run.',
    ],
    ['Mutex inspect', 'zzz', 'It takes none.'],
    ['Lease release', 'reason', 'Give it to steal.'],
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
