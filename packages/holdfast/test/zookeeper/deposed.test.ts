/**
 * A leader that has lost its followers and does not know it yet: it answers reads and `sync` by
 * itself until it notices.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { systemClock } from '../../dist/clock/clock.js'
import { momentOf } from '../../dist/stores/coordination/connection/moment.js'
import { ZooKeeperSession } from '../../dist/stores/zookeeper/session/session.js'
import { create, FLAGS } from '../../dist/stores/zookeeper/wire/messages.js'
import { after, makeClaim, openRaw, openStore, QUEUE, start } from './support/world.js'

const TIMEOUT = { timeout: 120_000 }
/** For longer than this no session does without a new sign of life. */
const SPARE_MS = 2000

/** Three servers, where clients reach only the one that leads, and what stops the other two. */
async function startLed(): Promise<{ connect: string; depose: () => Promise<void> }> {
  const ensemble = await start({ servers: 3 })
  const leader = await ensemble.leader()
  const followers = ensemble.members.filter((_, index) => index !== leader)
  return {
    connect: `127.0.0.1:${ensemble.ports[leader]}`,
    async depose() {
      await Promise.all(followers.map((server) => server.pause()))
    },
  }
}

test('leader without followers renews no lease and keeps no waiter', TIMEOUT, async () => {
  const { connect, depose } = await startLed()
  const store = openStore({ connect })
  const [holder, waiter] = [
    makeClaim('led', { ttlMs: 20_000 }),
    makeClaim('led', { ttlMs: 20_000 }),
  ]
  expect(await store.attempt(holder, QUEUE)).toMatchObject({ outcome: 'granted' })
  expect(await store.attempt(waiter, QUEUE)).toMatchObject({ outcome: 'waiting' })
  // The first renewal writes what `inspect` shows; the next ones write nothing.
  expect(await store.renew([holder])).toEqual([{ outcome: 'renewed' }])
  await sleep(SPARE_MS)
  await depose()
  const [renewing, heartbeat] = await Promise.allSettled([
    store.renew([holder]),
    store.attempt(waiter, QUEUE),
  ])
  expect(renewing).toMatchObject({ value: [{ outcome: 'unknown' }] })
  expect(heartbeat).toMatchObject({ status: 'rejected', reason: { code: 'STORE_UNAVAILABLE' } })
})

test('leader without followers lists no queue', TIMEOUT, async () => {
  const { connect, depose } = await startLed()
  const store = openStore({ connect })
  expect(await store.attempt(makeClaim('listed'), QUEUE)).toMatchObject({ outcome: 'granted' })
  await depose()
  await expect(store.inspect(['listed'])).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
  })
})

test.each(['/absent', '/closed'])(
  'session under the chroot %s is kept alive',
  TIMEOUT,
  async (chroot) => {
    const { ports } = await start()
    const connect = `127.0.0.1:${ports[0]}`
    const auth = { scheme: 'digest', user: 'one', password: 'secret' } as const
    const owner = await ZooKeeperSession.open({ connect, auth }, 10_000, 'exact')
    after(() => owner.end())
    await owner.ask(create('/closed', '', FLAGS.persistent, true))
    const stranger = await openRaw(`${connect}${chroot}`)
    after(() => stranger.end())
    expect(await stranger.keepAlive(momentOf(systemClock), 0)).toBeDefined()
  },
)
