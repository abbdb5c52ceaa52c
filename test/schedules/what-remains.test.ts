/**
 * What slots leave in each server. Each tick has a lock of its own, so nothing of it may stay for
 * good. packages/holdfast/test/embedded and test/memory do the same for the other stores.
 */
import { storeOf } from '@holdfast/stores'
import { loadModule } from '@holdfast/stores/load'
import { createLocks, type Locks } from 'holdfast'
import { Redis } from 'ioredis6'
import { createPool } from 'mysql2/promise'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { after } from '../support/after.js'

const AT_LEAST_MS = 5_000
/** Redis keeps the last token of a lock for a minute longer than its first TTL. */
const LAST_END_MS = 120_000
const SLOTS = 6
const MARK = '@tick:'

/** Runs slots that are due now, on each replica in turn. */
async function runSlots(replicas: readonly [Locks, Locks]): Promise<void> {
  for (let number = 0; number < SLOTS; number += 1) {
    const slot = Date.now()
    const locks = replicas[number % 2 === 0 ? 0 : 1]
    const terms = { slot, atLeastMs: AT_LEAST_MS, overlap: 'queue' } as const
    expect(await locks.oncePerTick('job', () => slot, terms)).toEqual({ ran: true, value: slot })
    // The next one is due at another time.
    await expect.poll(Date.now, { interval: 1 }).toBeGreaterThan(slot)
  }
}

async function start(name: string): Promise<{ at: readonly string[]; replicas: [Locks, Locks] }> {
  const { service } = storeOf(name)
  const { at, remove } = await service.start()
  after(remove)
  const open = async (): Promise<Locks> => {
    const [library] = service.libraries.daily
    const { store, ready, end } = await service.open(at, {
      library,
      load: loadModule,
      crowded: true,
    })
    await ready?.()
    const locks = createLocks(store)
    after(async () => {
      await locks.close()
      await end()
    })
    return locks
  }
  return { at, replicas: [await open(), await open()] }
}

test.each(['redis', 'redlock'])('each key of a slot in %s has an end', async (name) => {
  const { at, replicas } = await start(name)
  await runSlots(replicas)
  for (const url of at) {
    const client = new Redis(url)
    after(() => client.disconnect())
    const keys = (await client.keys('*')).filter((key) => key.includes(MARK))
    expect(keys.length).toBeGreaterThanOrEqual(SLOTS)
    for (const key of keys) {
      const endsInMs = await client.pttl(key)
      expect(endsInMs, key).toBeGreaterThan(0)
      expect(endsInMs, key).toBeLessThan(LAST_END_MS)
    }
  }
})

test('slots leave nothing in etcd', async () => {
  const { at, replicas } = await start('etcd')
  const count = async (): Promise<number> => {
    const [key, end] = ['holdfast/', 'holdfast0'].map((text) => btoa(text))
    const body = JSON.stringify({ key, range_end: end, keys_only: true })
    const answer = await fetch(`http://${at[0]?.replace(/^http:\/\//, '')}/v3/kv/range`, {
      method: 'POST',
      body,
    })
    const { kvs = [] } = (await answer.json()) as { readonly kvs?: readonly { key: string }[] }
    return kvs.filter((kv) => atob(kv.key).includes(MARK)).length
  }
  await runSlots(replicas)
  expect(await count()).toBeGreaterThan(0)
  await expect.poll(count, { timeout: 4 * AT_LEAST_MS, interval: 500 }).toBe(0)
})

/** Returns the names of the locks that have rows. Tombstones are deleted by their age. */
type Names = (at: string) => () => Promise<string[]>

const inPostgres: Names = (connectionString) => {
  // The end of a pool does not wait for its sockets, and the server ends next.
  const client = new Client({ connectionString })
  const connected = client.connect()
  after(() => client.end())
  return async () => {
    await connected
    const { rows } = await client.query<{ name: string }>(
      'select name from holdfast.locks union all select lock from holdfast.holders',
    )
    return rows.map(({ name }) => name)
  }
}

const inMysql: Names = (uri) => {
  const pool = createPool({ uri, connectionLimit: 1 })
  after(() => pool.end())
  return async () => {
    const [rows] = await pool.query(
      'select convert(name using utf8mb4) as name from (select name from holdfast_locks union all select name from holdfast_holders) all_rows',
    )
    return (rows as { name: string }[]).map(({ name }) => name)
  }
}

test.each([
  ['postgres', inPostgres],
  ['mysql', inMysql],
])('later slots delete the rows of earlier ones in %s', async (name, names) => {
  const { at, replicas } = await start(name)
  const rows = names(at[0] ?? '')
  const slots = async (): Promise<ReadonlySet<string>> =>
    new Set((await rows()).filter((row) => row.includes(MARK)))
  await runSlots(replicas)
  const first = await slots()
  expect(first.size).toBeGreaterThan(0)
  const ended = async (): Promise<number> =>
    (await replicas[0].inspect({ prefix: 'job@' })).locks.length
  await expect.poll(ended, { timeout: 4 * AT_LEAST_MS, interval: 500 }).toBe(0)
  await runSlots(replicas)
  const second = await slots()
  expect(second.size).toBeGreaterThan(0)
  expect([...second].filter((slot) => first.has(slot))).toEqual([])
})
