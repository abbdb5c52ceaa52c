/** A session that was silent for longer than it lives, while etcd kept it: after an election. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startEtcd, type EtcdCluster } from '@holdfast/servers/etcd'
import { systemClock, type Clock } from '../../dist/clock/clock.js'
import { CoordinationStore } from '../../dist/stores/coordination/store.js'
import { Connection } from '../../dist/stores/etcd/connection/connection.js'
import { QuorumReads } from '../../dist/stores/etcd/connection/quorum-reads.js'
import { momentOf } from '../../dist/stores/coordination/connection/moment.js'
import { EtcdService } from '../../dist/stores/etcd/service.js'
import { grantLease } from '../../dist/stores/etcd/session.js'
import { after, ask, keys, makeClaim, openLocks, QUEUE } from './support/world.js'

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

test('a step of the wall clock frees no lock whose holder has not learned of the loss', async () => {
  const locks = openLocks({ endpoints: [...cluster.endpoints] }, { ttlMs: 30_000 })
  const renewed = await locks.mutex('stepped').acquire()
  const beside = await locks.mutex('beside').acquire()
  const now = Date.now.bind(Date)
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + 120_000)
  try {
    await renewed.renew()
    const standsOn = await leaseOf('beside')
    // The renewal of the one lease says nothing to the holder of the other.
    expect(beside.signal.aborted || standsOn !== 'none').toBe(true)
  } finally {
    clock.mockRestore()
  }
})

test('an attempt that is repeated after a sleep of the machine promises no more than its session', async () => {
  const [endpoint = ''] = cluster.endpoints
  let sleptMs = 0
  const clock: Clock = { ...systemClock, monotonicMs: () => performance.now() - sleptMs }
  const service = new EtcdService(new Connection({ endpoints: [endpoint] }, clock))
  const store = new CoordinationStore(service, { name: 'etcd', ttlRangeMs: [1000, 60_000], clock })
  after(() => store.close())
  const claim = makeClaim('slept', { ttlMs: 3000 })
  expect(await store.attempt(claim, QUEUE)).toMatchObject({ outcome: 'granted' })
  await new Promise((resolve) => setTimeout(resolve, 2000))
  sleptMs = 2000
  const again = await store.attempt(claim, QUEUE)
  const ID = await leaseOf('slept')
  const { TTL } = await ask<{ TTL: string }>(endpoint, 'lease/timetolive', { ID })
  // etcd shows whole seconds, rounded down.
  expect(again).toMatchObject({ outcome: 'granted' })
  expect('remainingMs' in again && again.remainingMs).toBeLessThan((Number(TTL) + 1) * 1000)
})

test('an answer that comes late makes no session silent', async () => {
  const connection = new Connection({ endpoints: [...cluster.endpoints] })
  after(() => connection.close())
  const session = await grantLease(new QuorumReads(connection), 3, 'exact')
  const [early, pause] = [momentOf(systemClock), () => new Promise((r) => setTimeout(r, 1700))]
  await pause()
  expect(await session.keepAlive(momentOf(systemClock))).toBeDefined()
  // A request of that moment was answered only now.
  expect(await session.keepAlive(early)).toBeDefined()
  await pause()
  expect(await session.keepAlive(momentOf(systemClock))).toBeDefined()
})
