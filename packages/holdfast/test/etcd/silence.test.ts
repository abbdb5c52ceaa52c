/** A session that was silent for longer than it lives, while etcd kept it: after an election. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startEtcd, type EtcdCluster } from '@holdfast/servers/etcd'
import { ask, keys, openLocks } from './support/world.js'

let cluster: EtcdCluster

beforeAll(async () => {
  cluster = await startEtcd()
})
afterAll(() => cluster.stop())

async function leaseOf(lock: string): Promise<string> {
  const [entry] = await keys(cluster.endpoints[0] ?? '', `holdfast/locks/${lock}/`)
  return entry?.lease ?? 'none'
}

test('a lock does not stand on a lease that another leader may revoke', async () => {
  const [endpoint = ''] = cluster.endpoints
  const locks = openLocks({ endpoints: [endpoint] }, { ttlMs: 3000 })
  const first = await locks.mutex('silent').acquire()
  const ID = await leaseOf('silent')
  await first.release()
  // As a new leader does, which gives each lease its whole TTL again.
  const kept = performance.now() + 4500
  while (performance.now() < kept) {
    const { result } = await ask<{ result: { TTL?: string } }>(endpoint, 'lease/keepalive', { ID })
    expect(result.TTL).toBe('4')
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  const second = await locks.mutex('silent').acquire()
  const standsOn = await leaseOf('silent')
  // As the leader before does, once its network is whole.
  await ask(endpoint, 'lease/revoke', { ID }).catch((error: unknown) =>
    expect(String(error)).toContain('not found'),
  )
  await second.renew()
  expect(standsOn).not.toBe(ID)
  expect(await second.release()).toBe('released')
})
