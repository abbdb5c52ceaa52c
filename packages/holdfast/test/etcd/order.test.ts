/** Callers keep their order when an attempt of one of them finds no etcd. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLocks, StoreUnavailableError } from 'holdfast'
import { startEtcd, type EtcdCluster } from '@holdfast/servers/etcd'
import { CoordinationStore } from '../../dist/stores/coordination/store.js'
import { Connection } from '../../dist/stores/etcd/connection/connection.js'
import { EtcdService } from '../../dist/stores/etcd/service.js'
import { after, openLocks } from './support/world.js'

let cluster: EtcdCluster

beforeAll(async () => {
  cluster = await startEtcd()
})
afterAll(() => cluster.stop())

/** Is away for the first attempt of the second claim. */
class AwayOnce extends EtcdService {
  readonly claims = new Set<string>()
  wasAway = false

  override async enter(
    ...call: Parameters<EtcdService['enter']>
  ): ReturnType<EtcdService['enter']> {
    this.claims.add(call[0].id)
    if (this.claims.size < 2 || this.wasAway) return super.enter(...call)
    this.wasAway = true
    throw new StoreUnavailableError('etcd does not answer.', { store: 'etcd' })
  }
}

test('callers with different leases are granted in the order of their calls after one found no etcd', async () => {
  const { endpoints } = cluster
  const service = new AwayOnce(new Connection({ endpoints }))
  const settings = { name: 'etcd', ttlRangeMs: [1000, 60_000] } as const
  const locks = createLocks(new CoordinationStore(service, settings), { fairness: 'fifo' })
  after(() => locks.close({ graceMs: 0 }))
  const others = openLocks({ endpoints })
  const held = await others.mutex('ordered').acquire()
  const order: number[] = []
  const turns = Array.from({ length: 6 }, (_, number) =>
    locks
      .mutex('ordered', { ttlMs: 10_000 - number * 100 })
      .run(() => void order.push(number), { waitMs: 20_000 }),
  )
  await expect
    .poll(async () => (await others.mutex('ordered').inspect()).waiters.length, { timeout: 10_000 })
    .toBe(turns.length)
  expect(service.wasAway).toBe(true)
  await held.release()
  await Promise.all(turns)
  expect(order).toEqual([...turns.keys()])
})
