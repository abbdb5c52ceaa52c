/** Pools of other character sets: a name is the same lock through all of them. */
import { createLocks, type Locks } from 'holdfast'
import { assertFence } from 'holdfast/fence'
import { mysqlSchema, mysqlStore, mysqlTransactions } from 'holdfast/mysql'
import { createPool, type Pool, type PoolOptions } from 'mysql2/promise'
import { afterAll, describe, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { outcomeOf } from '../support/world.js'
import { after } from '../../../../test/support/after.js'

const server = await startMysql()
server.sql(mysqlSchema())
afterAll(() => server.remove())

function poolOf(options: PoolOptions = {}): Pool {
  const pool = createPool({ uri: server.url, connectionLimit: 3, ...options })
  after(() => pool.end())
  return pool
}

function locksOf(pool: Pool): Locks {
  const locks = createLocks(mysqlStore({ pool }), { label: 'café 🔒' })
  after(() => locks.close())
  return locks
}

describe.each(['latin1', 'utf8', 'cp1250', 'gbk'])('a pool in %s', (charset) => {
  const names = ['café', 'job 😀', '職務', 'plain'].map((name) => `${name} ${charset}`)

  test.each(names)(
    'has the lock "%s" in common with others, alone and beside another',
    async (name) => {
      const [odd, usual] = [locksOf(poolOf({ charset })), locksOf(poolOf())]
      for (const [one, two] of [[odd, usual] as const, [usual, odd] as const]) {
        const lease = await one.mutex(name).acquire()
        expect(await two.mutex(name).tryAcquire()).toBeUndefined()
        const both = [two.mutex(name).tryAcquire(), two.mutex(`${name} too`).tryAcquire()]
        const [same, other] = await Promise.all(both)
        expect(same).toBeUndefined()
        await other?.release()
        const {
          locks: [shown],
        } = await two.inspect({ prefix: name })
        expect(shown).toMatchObject({ lock: name, holders: [{ owner: { label: 'café 🔒' } }] })
        await lease.release()
      }
    },
  )

  test.each(names)('covers "%s" and fences it', async (name) => {
    const [odd, usual] = [poolOf({ charset }), poolOf()]
    const locks = locksOf(usual)
    expect(await locks.transaction(locks.mutex(name), mysqlTransactions(odd), async () => 7)).toBe(
      7,
    )
    const older = await locks.mutex(name).acquire()
    await older.release()
    const newer = await locks.mutex(name).acquire()
    await mysqlTransactions(usual).transaction((tx) => assertFence(tx, newer, name))
    const late = mysqlTransactions(odd).transaction((tx) => assertFence(tx, older, name))
    expect(await outcomeOf(late)).toMatchObject({ error: { code: 'STALE_TOKEN' } })
  })
})

test('a pool without autocommit takes new locks several at once, and sees what others do', async () => {
  const [pool, usual] = [poolOf(), locksOf(poolOf())]
  pool.pool.on('connection', (connection) => connection.query('set autocommit = 0'))
  const locks = locksOf(pool)
  const lock = locks.readWriteLock('fresh')
  const readers = await Promise.all([lock.read.acquire(), lock.read.acquire()])
  expect((await locks.inspect({ prefix: 'seen' })).locks.length).toBe(0)
  const lease = await usual.mutex('seen').acquire()
  expect((await locks.inspect({ prefix: 'seen' })).locks.length).toBe(1)
  await Promise.all([lease, ...readers].map((held) => held.release()))
})
