/** What exported leases leave behind in etcd. */
import { beforeAll, afterAll, expect, test } from 'vitest'
import { createLocks } from 'holdfast'
import { startEtcd, type EtcdCluster } from '@holdfast/servers/etcd'
import { CoordinationStore } from '../../dist/stores/coordination/store.js'
import { Connection } from '../../dist/stores/etcd/connection/connection.js'
import { METHODS } from '../../dist/stores/etcd/wire/messages.js'
import { EtcdService } from '../../dist/stores/etcd/service.js'
import { after, ask, keys, openLocks } from './support/world.js'

let cluster: EtcdCluster

beforeAll(async () => {
  cluster = await startEtcd()
})
afterAll(() => cluster.stop())

const LIMIT = { timeout: 60_000 }

async function leaseCount(): Promise<number> {
  const { leases = [] } = await ask<{ leases?: unknown[] }>(
    cluster.endpoints[0] ?? '',
    'lease/leases',
  )
  return leases.length
}

test('exports that were adopted or released leave no lease of etcd', LIMIT, async () => {
  const { endpoints } = cluster
  const [exporter, adopter] = [openLocks({ endpoints }), openLocks({ endpoints })]
  const round = async (): Promise<void> => {
    const adopted = await (await exporter.mutex('adopted').acquire()).export()
    await adopter.renewHandle(adopted)
    await (await adopter.mutex('adopted').adopt(adopted)).release()
    const released = await (await exporter.mutex('released').acquire()).export()
    expect(await adopter.releaseHandle(released)).toBe('released')
  }
  // The sessions of both clients, and the leases of tombstones.
  await round()
  await expect.poll(leaseCount, { timeout: 10_000 }).toBeLessThanOrEqual(3)
  const before = await leaseCount()
  for (let rounds = 0; rounds < 5; rounds += 1) await round()
  await expect.poll(leaseCount, { timeout: 10_000 }).toBeLessThanOrEqual(before)
})

/** Sends the next change to a detached entry twice, as after a lost answer. */
class ForgetfulConnection extends Connection {
  forgets = false

  override async request(...call: Parameters<Connection['request']>): Promise<Buffer> {
    const [method, body] = call
    if (this.forgets && method === METHODS.txn && body.includes('"detached":true')) {
      this.forgets = false
      await super.request(...call)
    }
    return super.request(...call)
  }
}

test('an exported lease outlives changes whose answers were lost', LIMIT, async () => {
  const { endpoints } = cluster
  const connection = new ForgetfulConnection({ endpoints })
  const settings = { name: 'etcd', ttlRangeMs: [1000, 60_000] } as const
  const locks = createLocks(new CoordinationStore(new EtcdService(connection), settings))
  after(() => locks.close({ graceMs: 0 }))
  const mutex = locks.mutex('forgotten')
  const lease = await mutex.acquire()
  connection.forgets = true
  const handle = await lease.export()
  expect(connection.forgets).toBe(false)
  connection.forgets = true
  await locks.renewHandle(handle)
  expect(connection.forgets).toBe(false)
  // What is not needed any more ends right after the answer, before this is asked.
  await locks.ping()
  expect((await mutex.inspect())?.holders).toHaveLength(1)
  await (await mutex.adopt(handle)).release()
})

test('an exported lease gives the key of its entry back', LIMIT, async () => {
  const { endpoints } = cluster
  const locks = openLocks({ endpoints })
  const mutex = locks.mutex('keys')
  for (let rounds = 0; rounds < 3; rounds += 1)
    await locks.releaseHandle(await (await mutex.acquire()).export())
  const lease = await mutex.acquire()
  const [entry] = await keys(endpoints[0] ?? '', 'holdfast/locks/keys/')
  expect(entry?.key).toMatch(/-0$/)
  await lease.release()
})

test('a claim does not write over an exported lease', LIMIT, async () => {
  const { endpoints } = cluster
  const locks = openLocks({ endpoints })
  const permits = locks.semaphore('beside', { permits: 2 })
  const handle = await (await permits.acquire()).export()
  const lease = await permits.acquire()
  expect(await permits.tryAcquire()).toBeUndefined()
  expect((await lock(locks)).holders).toHaveLength(2)
  await lease.release()
  expect(await locks.releaseHandle(handle)).toBe('released')

  async function lock(client: typeof locks) {
    const info = await client.semaphore('beside', { permits: 2 }).inspect()
    if (!info) throw new Error('no client holds the lock')
    return info
  }
})
