/**
 * Programs that start before their server, and outlive its restart: a caller waits for its
 * `waitMs`, and a holder keeps its lease until the deadline.
 */
import { createLocks, onLockEvent, StoreUnavailableError, type Locks } from 'holdfast'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '@holdfast/servers/eventually'
import { KITS, type OpenKit } from './kits.js'

/** Servers and the backoff of client libraries take long on a busy machine. */
const LONG_MS = 60_000
/** Longer than the event takes: it comes a second after the last pause of a client library. */
const SHORT_MS = 6000
/** ZooKeeper grants no session that is much shorter. */
const AWAY_TTL_MS = 3000
/** How late a busy machine may be, where a dozen servers start beside other tests. */
const LATE_MS = 10_000

describe.concurrent.each(KITS)('$name', ({ name, start }) => {
  describe.sequential('a server that comes late', () => {
    let kit: OpenKit
    const opened: Locks[] = []

    beforeAll(async () => {
      kit = await start()
      await kit.down()
    }, LONG_MS)
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((locks) => locks.close()))
    })
    afterAll(() => kit.remove())

    async function open(): Promise<Locks> {
      const locks = createLocks(await kit.open())
      opened.push(locks)
      return locks
    }

    test(
      'acquire rejects with the cause when its wait ends first, and tryAcquire does not wait',
      { timeout: LONG_MS },
      async () => {
        const locks = await open()
        const outages: string[] = []
        const stop = onLockEvent('store-unavailable', ({ lock }) => {
          if (lock === `first ${name}`) outages.push(lock)
        })
        const startMs = performance.now()
        const waiting = locks.mutex(`first ${name}`).acquire({ waitMs: SHORT_MS })
        const trying = locks.mutex('second').tryAcquire()
        await expect(trying).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
        expect(performance.now() - startMs).toBeLessThan(SHORT_MS - 1000)
        await expect(waiting).rejects.toBeInstanceOf(StoreUnavailableError)
        await expect(waiting).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
        const tookMs = performance.now() - startMs
        expect(tookMs).toBeGreaterThan(SHORT_MS - 10)
        expect(tookMs).toBeLessThan(SHORT_MS + LATE_MS)
        expect(outages).toEqual([`first ${name}`])
        stop()
      },
    )

    test(
      'callers that acquire before the server is up get their locks',
      { timeout: LONG_MS },
      async () => {
        const locks = await open()
        const startMs = performance.now()
        const order: string[] = []
        const wait = { waitMs: LONG_MS }
        const all = Promise.all([
          locks.mutex('a').run(() => order.push('mutex'), wait),
          locks.mutex('b', { fairness: 'fifo' }).run(() => order.push('fifo 1'), wait),
          locks.mutex('b', { fairness: 'fifo' }).run(() => order.push('fifo 2'), wait),
          locks.readWriteLock('c').read.run(() => order.push('reader'), wait),
          locks.multi([locks.mutex('d'), locks.mutex('e')]).run(() => order.push('multi'), wait),
          locks.election('f').campaign(),
        ])
        await sleep(400)
        await kit.up()
        const upMs = performance.now()
        await all
        const afterMs = performance.now() - upMs
        console.log(
          `up after ${Math.round(upMs - startMs)} ms, got it ${Math.round(afterMs)} ms after that`,
        )
        expect(order.filter((name) => name.startsWith('fifo'))).toEqual(['fifo 1', 'fifo 2'])
        expect(order).toHaveLength(5)
        expect(afterMs).toBeLessThan(10_000 + LATE_MS)
        expect((await locks.mutex('a').acquire(wait)).held).toBe(true)
      },
    )

    test(
      'a restart: the holder keeps its lease, and callers that wait or arrive get their locks',
      { timeout: LONG_MS },
      async () => {
        const [one, two] = [await open(), await open()]
        const holder = await one.mutex('busy', { ttlMs: 30_000 }).acquire({ waitMs: LONG_MS })
        const waiting = two.mutex('busy').acquire({ waitMs: LONG_MS })
        await sleep(300)
        await kit.down()
        const late = two.mutex('late').acquire({ waitMs: LONG_MS })
        // Its outcome is unknown, or it reaches the server after the restart.
        const renewing = holder.renew().catch(() => undefined)
        await sleep(1500)
        await kit.up()
        expect((await late).held).toBe(true)
        await renewing
        await eventually('the lease is renewed', () => holder.renew().then(() => true), {
          everyMs: 100,
        })
        expect(holder.held).toBe(true)
        expect(await holder.release()).toBe('released')
        expect((await waiting).held).toBe(true)
      },
    )

    test(
      'connections that the server ends: the holder keeps its lease, and a waiter is granted',
      { timeout: LONG_MS },
      async ({ skip }) => {
        if (!kit.cut) skip('its kit cannot end connections')
        const [one, two] = [await open(), await open()]
        const lock = one.mutex('cut')
        const lease = await lock.acquire({ waitMs: LONG_MS })
        const waiting = two.mutex('cut').acquire({ waitMs: LONG_MS })
        await eventually('the waiter waits', async () => (await lock.inspect()).waiters.length > 0)
        await kit.cut?.()
        await eventually('the lease is renewed', () => lease.renew().then(() => true))
        expect(lease.held).toBe(true)
        expect(await lease.release()).toBe('released')
        expect((await waiting).held).toBe(true)
      },
    )

    test(
      'away for longer than the TTL: the lease ends by its deadline, the next token is larger',
      { timeout: LONG_MS },
      async () => {
        const locks = await open()
        const away = locks.mutex('away', { ttlMs: AWAY_TTL_MS })
        const lease = await away.acquire({ waitMs: LONG_MS })
        const lost = new Promise<number>((resolve) =>
          lease.signal.addEventListener('abort', () => resolve(performance.now())),
        )
        await kit.down()
        const downMs = performance.now()
        expect((await lost) - downMs).toBeLessThan(AWAY_TTL_MS + LATE_MS)
        expect(lease.held).toBe(false)
        await kit.up()
        expect(await lease.release()).toBe('lost')
        const next = await away.acquire({ waitMs: LONG_MS })
        expect(next.token).toBeGreaterThan(lease.token)
      },
    )
  })
})
