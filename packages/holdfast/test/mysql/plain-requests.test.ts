/**
 * Attempts and releases as plain statements: what they leave to the procedures, and what becomes of
 * those whose answers are lost.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createLocks } from 'holdfast'
import { mysqlSchema, mysqlStore, type MysqlPool } from 'holdfast/mysql'
import type { Claim, Store } from 'holdfast/store'
import { createPool, type Pool, type PoolConnection, type PoolOptions } from 'mysql2/promise'
import { afterAll, describe, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { Proxy } from '@holdfast/servers/proxy'
import { after, closing } from '../../../../test/support/after.js'
import { makeClaim, take, TRY } from '../../../../test/support/claims.js'

const REQUEST_MS = 700

const server = await startMysql()
server.sql(mysqlSchema())
server.sql('create table work (id integer)')
const observing = createPool({ uri: server.url, connectionLimit: 1 })
const observer = mysqlStore({ pool: observing })
afterAll(async () => {
  await observer.close()
  await observing.end()
  await server.remove()
})

function poolOf(options: PoolOptions = {}): Pool {
  const pool = createPool({ uri: server.url, connectionLimit: 2, ...options })
  after(() => pool.end().catch(() => undefined))
  return pool
}

function storeOf(pool: MysqlPool, requestTimeoutMs = 5000): Store {
  return closing(mysqlStore({ pool, requestTimeoutMs }))
}

/**
 * The first claim of a lock goes to the procedure, and finds it free. The second one prepares the
 * plain statements.
 */
async function warmUp(store: Store, lock: string): Promise<void> {
  for (const claim of [makeClaim(lock), makeClaim(lock)]) {
    await take(store, claim)
    expect(await store.withdraw(claim)).toBe('released')
  }
}

const tombstones = (lock: string): string =>
  server.sql(`select count(*) from holdfast_tombstones where name = '${lock}'`)
const calls = (): number =>
  Number(server.sql("show global status like 'Com_call_procedure'").split(/\s+/)[1])
const holder = async (lock: string): Promise<string | undefined> =>
  (await observer.inspect([lock]))[0]?.holders[0]?.claimId

const waits = (): string =>
  server.sql(`select count(*) from information_schema.innodb_trx where trx_state = 'LOCK WAIT'`)

async function proxied(): Promise<{ proxy: Proxy; store: Store }> {
  const proxy = await Proxy.to(server.port)
  after(() => proxy.close())
  const url = new URL(server.url)
  url.port = String(proxy.port)
  return { proxy, store: storeOf(poolOf({ uri: url.href }), REQUEST_MS) }
}

/** The statement is done, and the client does not hear of it. */
async function unheard(proxy: Proxy, ask: () => unknown): Promise<void> {
  proxy.faults.dropReplies = true
  await expect(ask()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  proxy.heal()
}

async function held(lock: string): Promise<{ proxy: Proxy; store: Store; claim: Claim }> {
  const { proxy, store } = await proxied()
  await warmUp(store, lock)
  const claim = makeClaim(lock)
  await take(store, claim)
  return { proxy, store, claim }
}

async function leave(pool: Pool): Promise<PoolConnection> {
  const connection = await pool.getConnection()
  await connection.query('start transaction')
  await connection.query('insert into work values (1)')
  connection.release()
  return connection
}
const rows = (): string => server.sql('select count(*) from work')

test('a lock that was free is taken and released without a procedure and without a tombstone', async () => {
  const store = storeOf(poolOf())
  await warmUp(store, 'pair')
  const before = [calls(), tombstones('pair')]
  const tokens: bigint[] = []
  for (let round = 0; round < 3; round += 1) {
    const claim = makeClaim('pair')
    tokens.push((await take(store, claim)).token)
    expect(await store.withdraw(claim)).toBe('released')
    expect(await store.attempt(claim, TRY)).toEqual({ outcome: 'withdrawn' })
    expect(await store.withdraw(claim)).toBe('released')
  }
  expect(tokens).toEqual(tokens.toSorted((a, b) => (a < b ? -1 : 1)))
  expect([calls(), tombstones('pair')]).toEqual(before)
})

test('an attempt of a claim that leaves after its release is not granted', async () => {
  const store = storeOf(poolOf())
  await warmUp(store, 'both')
  const claim = makeClaim('both')
  await take(store, claim)
  const released = Promise.resolve(store.withdraw(claim))
  // The release has left, and the attempt would take another connection.
  await nextTurn()
  expect(await store.attempt(claim, TRY)).toEqual({ outcome: 'withdrawn' })
  expect(await released).toBe('released')
  expect(await holder('both')).toBeUndefined()
})

test('what a plain statement leaves undone, the procedure does', async () => {
  const [one, two] = [storeOf(poolOf()), storeOf(poolOf())]
  await warmUp(one, 'busy')
  const [held, waiter] = [makeClaim('busy'), makeClaim('busy')]
  await take(one, held)
  // The lock is busy for a claim that was to find it free, and has a waiter when it is released.
  expect(await one.attempt(makeClaim('busy'), TRY)).toMatchObject({ outcome: 'busy' })
  expect(await two.attempt(waiter, { ...TRY, enqueue: true })).toMatchObject({ outcome: 'waiting' })
  expect(await one.withdraw(held)).toBe('released')
  expect(await holder('busy')).toBe(waiter.id)
  expect(await two.withdraw(waiter)).toBe('released')
})

describe.each(['READ COMMITTED', 'REPEATABLE READ'])('a session on the level %s', (level) => {
  test('an attempt that waits for the row sees a withdrawal that comes before it', async () => {
    const lock = `row ${level}`
    const pool = poolOf({ connectionLimit: 1 })
    await pool.query(`set session transaction isolation level ${level}`)
    const store = storeOf(pool)
    await warmUp(store, lock)
    const claim = makeClaim(lock)
    const other = await poolOf().getConnection()
    await other.query('start transaction')
    await other.query('select 1 from holdfast_locks where name = ? for update', [lock])
    const answer = store.attempt(claim, TRY)
    await expect.poll(waits, { timeout: 5000, interval: 200 }).toBe('1')
    await other.query("insert into holdfast_tombstones values (?, ?, 9999999999999999, 'absent')", [
      lock,
      claim.id,
    ])
    await other.query('commit')
    other.release()
    expect(await answer).toMatchObject({ outcome: 'withdrawn' })
    expect(await holder(lock)).toBeUndefined()
  })
})

describe('an answer that is lost', () => {
  test('of an attempt: the claim has the lock, and its release leaves a tombstone', async () => {
    const { proxy, store } = await proxied()
    await warmUp(store, 'attempt')
    const before = Number(tombstones('attempt'))
    const claim = makeClaim('attempt')
    await unheard(proxy, () => store.attempt(claim, TRY))
    expect(await store.attempt(claim, TRY)).toMatchObject({ alreadyGranted: true })
    expect(await store.withdraw(claim)).toBe('released')
    expect(Number(tombstones('attempt'))).toBe(before + 1)
  })

  test('of an attempt to the procedure: a later one of the claim is not plain', async () => {
    const { proxy, store } = await proxied()
    await warmUp(store, 'another')
    const claim = makeClaim('earlier')
    proxy.faults.dropRequests = true
    await expect(store.attempt(claim, TRY)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    proxy.heal()
    await warmUp(store, 'earlier')
    const before = Number(tombstones('earlier'))
    await take(store, claim)
    expect(await store.withdraw(claim)).toBe('released')
    expect(Number(tombstones('earlier'))).toBe(before + 1)
  })

  test('of a release: a repeated one answers that it is released', async () => {
    const { proxy, store, claim } = await held('release')
    await unheard(proxy, () => store.withdraw(claim))
    expect(await holder('release')).toBeUndefined()
    expect(await store.withdraw(claim)).toBe('released')
  })

  test('of a release, when another claim had the lock since: unknown to the holder', async () => {
    const { proxy, store, claim } = await held('since')
    await unheard(proxy, () => store.withdraw(claim))
    await warmUp(storeOf(poolOf()), 'since')
    expect(await store.withdraw(claim)).toBe('absent')
  })

  test('with its connection: a release succeeds, or fails when another claim had the lock since', async () => {
    for (const isTaken of [false, true]) {
      const lock = `cut ${isTaken}`
      const { proxy, store, claim } = await held(lock)
      proxy.faults.dropReplies = true
      const answer = store.withdraw(claim)
      // A look through the store would move the holder out of the row.
      const freeRow = `select count(*) from holdfast_locks where name = '${lock}' and sole_expires_us = 0`
      await expect.poll(() => server.sql(freeRow), { timeout: 5000 }).toBe('1')
      if (isTaken) await warmUp(storeOf(poolOf()), lock)
      proxy.heal()
      proxy.reset()
      if (isTaken) await expect(answer).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
      else expect(await answer).toBe('released')
    }
  })
})

describe('a connection inside of a transaction of the program', () => {
  test('is ended: the grant stands, and nothing of the program is committed', async () => {
    const pool = poolOf({ connectionLimit: 2 })
    const store = storeOf(pool)
    await warmUp(store, 'inside')
    await leave(pool)
    const claim = makeClaim('inside')
    await take(store, claim)
    expect(await holder('inside')).toBe(claim.id)
    expect(rows()).toBe('0')
  })

  test('refuses with STORE_CONFIG where it is the only one, and the program continues', async () => {
    const pool = poolOf({ connectionLimit: 1 })
    const store = storeOf(pool)
    await warmUp(store, 'only')
    const connection = await leave(pool)
    await expect(store.attempt(makeClaim('only'), TRY)).rejects.toMatchObject({
      code: 'STORE_CONFIG',
    })
    await connection.query('rollback')
    expect(rows()).toBe('0')
  })
})

test('a session that stops to commit by itself locks by procedures, and others see its grants', async () => {
  for (const connectionLimit of [1, 2]) {
    const lock = `no autocommit ${connectionLimit}`
    const pool = poolOf({ connectionLimit })
    const store = storeOf(pool)
    await warmUp(store, lock)
    await pool.query('set autocommit = 0')
    for (let round = 0; round < 3; round += 1) {
      const claim = makeClaim(lock)
      await take(store, claim)
      expect(await holder(lock)).toBe(claim.id)
      expect(await store.withdraw(claim)).toBe('released')
    }
  }
})

test('a session without autocommit from the start keeps its connection', async () => {
  const pool = poolOf({ connectionLimit: 1 })
  await pool.query('set autocommit = 0')
  const connection = async (): Promise<unknown> => {
    const [rows] = await pool.query('select connection_id() as id')
    await pool.query('commit')
    return rows
  }
  const before = await connection()
  const store = storeOf(pool)
  for (let round = 0; round < 3; round += 1) await warmUp(store, 'kept')
  expect(await connection()).toEqual(before)
})

test('a session that writes statements to the log of the server locks by procedures', async () => {
  const pool = poolOf({ connectionLimit: 1 })
  const store = storeOf(pool)
  await warmUp(store, 'log')
  await pool.query("set session binlog_format = 'STATEMENT'")
  const before = Number(tombstones('log'))
  const claim = makeClaim('log')
  await take(store, claim)
  expect(await store.withdraw(claim)).toBe('released')
  // A plain release leaves none.
  expect(Number(tombstones('log'))).toBe(before + 1)
})

/** Runs `use` for each plain statement before it is sent. */
function watched(pool: Pool, use: () => void): MysqlPool {
  return {
    query: (of) => pool.query(of),
    execute: (of) => pool.execute(of),
    async getConnection() {
      const connection = await pool.getConnection()
      return {
        query: (of) => connection.query(of),
        async execute(of) {
          if (of.sql.includes('@@in_transaction')) use()
          return connection.execute(of)
        },
        release: () => connection.release(),
        destroy: () => connection.destroy(),
      }
    },
  }
}

test('a server that does not show transactions, as MySQL, is asked once', async () => {
  let refused = 0
  const asMysql = watched(poolOf(), () => {
    refused += 1
    throw Object.assign(new Error("Unknown system variable 'in_transaction'"), { errno: 1193 })
  })
  const locks = createLocks(mysqlStore({ pool: asMysql }))
  after(() => locks.close())
  for (let round = 0; round < 4; round += 1) await locks.mutex('as mysql').run(() => undefined)
  expect(refused).toBe(1)
})

test('a session that refuses plain statements is soon left alone', async () => {
  let refused = 0
  const refusing = watched(poolOf(), () => {
    refused += 1
    throw Object.assign(new Error('The SELECT would examine too many rows'), { errno: 1104 })
  })
  const store = storeOf(refusing)
  for (let round = 0; round < 30; round += 1) await warmUp(store, 'refusing')
  expect(refused).toBe(8)
})

test('permits of a semaphore that others hold too take no plain statements', async () => {
  let sent = 0
  const store = storeOf(watched(poolOf(), () => (sent += 1)))
  const kind = { kind: 'semaphore', capacity: 3, weight: 1 } as const
  await take(storeOf(poolOf()), makeClaim('permits', kind))
  for (let round = 0; round < 5; round += 1) {
    const permit = makeClaim('permits', kind)
    await take(store, permit)
    expect(await store.withdraw(permit)).toBe('released')
  }
  expect(sent).toBe(0)
})

test('a lease that is looked at is released by the procedure, at once', async () => {
  let sent = 0
  const store = storeOf(watched(poolOf(), () => (sent += 1)))
  await warmUp(store, 'seen')
  sent = 0
  for (let round = 0; round < 3; round += 1) {
    const claim = makeClaim('seen')
    await take(store, claim)
    await store.inspect(['seen'])
    expect(await store.withdraw(claim)).toBe('released')
  }
  // The first attempt, and no release.
  expect(sent).toBe(1)
})

test('a pool of one connection is not ended under the program that waits for it', async () => {
  const pool = poolOf({ connectionLimit: 1 })
  const store = storeOf(pool, REQUEST_MS)
  await warmUp(store, 'waited for')
  await take(storeOf(poolOf()), makeClaim('waited for'))
  const busy = store.attempt(makeClaim('waited for'), TRY)
  // The statement has left by then.
  await nextTurn()
  const connection = await pool.getConnection()
  await connection.query('start transaction')
  await connection.query('insert into work values (1)')
  await connection.query('do sleep(1)')
  await connection.query('rollback')
  connection.release()
  expect(await busy).toMatchObject({ outcome: 'busy' })
})
