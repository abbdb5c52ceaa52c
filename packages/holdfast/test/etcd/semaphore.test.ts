/** Permits that many clients want at the same time. */
import { expect, test } from 'vitest'
import { startEtcd } from '@holdfast/servers/etcd'
import { after, openLocks } from './support/world.js'

const CLIENTS = 16
const PERMITS = 8
const LEASES = 60

test(
  'clients that try for permits at the same time get an answer',
  { timeout: 120_000 },
  async () => {
    const cluster = await startEtcd()
    after(() => cluster.stop())
    const { endpoints } = cluster
    let leases = 0
    let held = 0
    let most = 0
    const one = async (): Promise<void> => {
      const permits = openLocks({ endpoints }).semaphore('permits', { permits: PERMITS })
      while (leases < LEASES) {
        const lease = await permits.tryAcquire()
        if (!lease) continue
        leases += 1
        held += 1
        most = Math.max(most, held)
        await new Promise((resolve) => void setImmediate(resolve))
        held -= 1
        expect(await lease.release()).toBe('released')
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, one))
    expect(most).toBeLessThanOrEqual(PERMITS)
  },
)

test('an attempt for too many permits refuses no other one', async () => {
  const cluster = await startEtcd()
  after(() => cluster.stop())
  const { endpoints } = cluster
  const clients = Array.from({ length: 8 }, () => openLocks({ endpoints }))
  // Each has its session with etcd: the attempts below take one request.
  for (const [index, client] of clients.entries()) await client.mutex(`own-${index}`).run(() => 1)
  const [holder, small, ...others] = clients.map((one) => one.semaphore('all', { permits: 3 }))
  await holder?.acquire({ weight: 2 })
  for (const other of others) {
    const heavy = other.tryAcquire({ weight: 2 })
    const lease = await small?.tryAcquire()
    expect(await heavy).toBeUndefined()
    expect(await lease?.release()).toBe('released')
  }
})
