/**
 * Entries that a later version of Holdfast made: a process that does not know them refuses, and
 * leaves them as they are.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startEtcd, type EtcdCluster } from '@holdfast/servers/etcd'
import { ask, keys, makeClaim, TRY, openStore, QUEUE } from './support/world.js'

let cluster: EtcdCluster
let endpoint: string

beforeAll(async () => {
  cluster = await startEtcd()
  endpoint = cluster.endpoints[0] ?? ''
})
afterAll(() => cluster.stop())

const refused = {
  code: 'STORE_FORMAT',
  message: expect.stringContaining('Update Holdfast') as string,
}
const base64 = (text: string): string => Buffer.from(text).toString('base64')

test('an entry of a later format is refused, and only the own entry is taken out again', async () => {
  const key = 'holdfast/locks/later/w/someone'
  const value = JSON.stringify({ format: 2, id: 'someone' })
  await ask(endpoint, 'kv/put', { key: base64(key), value: base64(value) })
  const store = openStore({ endpoints: [endpoint] })
  const reader = makeClaim('later', { kind: 'readWriteLock', weight: 1 })
  const semaphore = makeClaim('later', { kind: 'semaphore', capacity: 2, weight: 1 })
  for (const claim of [makeClaim('later'), reader, semaphore]) {
    for (const how of [TRY, QUEUE]) {
      const once = { ...claim, id: `${claim.id}-${how.enqueue}` }
      await expect(store.attempt(once, how)).rejects.toMatchObject(refused)
      // As the runtime does after each rejection.
      await store.withdraw(once)
    }
  }
  await expect(store.inspect(['later'])).rejects.toMatchObject(refused)
  await expect(store.steal('later', { now: true })).rejects.toMatchObject(refused)
  expect(await keys(endpoint, 'holdfast/locks/later/')).toMatchObject([{ key, value }])
})

test('an entry says its format', async () => {
  const store = openStore({ endpoints: [endpoint] })
  await store.attempt(makeClaim('says'), TRY)
  const [entry] = await keys(endpoint, 'holdfast/locks/says/')
  expect(JSON.parse(entry?.value ?? '')).toMatchObject({ format: 1 })
})
