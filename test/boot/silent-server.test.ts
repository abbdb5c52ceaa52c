/**
 * Servers that take connections and never answer: one attempt ends within the time that the guide
 * states, and a signal ends it before.
 */
import { createLocks, type Locks } from 'holdfast'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Proxy } from '@holdfast/servers/proxy'
import { STORES, waysTo } from '@holdfast/stores'
import type { RunningService } from '@holdfast/stores/descriptor'
import { loadModule } from '@holdfast/stores/load'
import { isFull } from '../support/plan.js'

/** How long one attempt takes with the defaults: see `docs/guide/waiting.md`. */
const BOUND_MS = 7000
/** How late a busy machine may be. */
const LATE_MS = 15_000
/** Servers take long to start on a busy machine. */
const LONG_MS = 120_000
/** Their members announce addresses of their own, which lead past a proxy. */
const ANNOUNCED = new Set(['redis-cluster', 'redis-sentinel'])

/** In a URL, or in a list of ports. */
const PORT = /(?<=[:,])\d{4,5}\b/g

const WAYS = STORES.filter(({ torture }) => torture.servers > 0).flatMap((store) =>
  waysTo(store, isFull() ? 'full' : 'daily'),
)

describe.concurrent.each(WAYS)('$title', ({ store: { name, service }, library }) => {
  describe.sequential('a server that does not answer', () => {
    const proxies: Proxy[] = []
    let running: RunningService
    let at: readonly string[]
    let locks: Locks | undefined
    const ends: (() => unknown)[] = []

    const setSilent = (silent: boolean): void => {
      for (const { faults } of proxies) faults.dropRequests = faults.dropReplies = silent
    }

    beforeAll(async () => {
      running = await service.start()
      const ports = running.at.flatMap((one) => one.match(PORT) ?? [])
      for (const port of ports) proxies.push(await Proxy.to(Number(port)))
      let next = 0
      at = running.at.map((one) => one.replace(PORT, () => String(proxies[next++]?.port)))
    }, LONG_MS)

    afterAll(async () => {
      for (const proxy of proxies) await proxy.close()
      await locks?.close({ graceMs: 0 })
      // The end of a pool may wait for a connection that was just being made, or reject with it.
      for (const end of ends) void Promise.resolve(end()).catch(() => undefined)
      await running.remove()
    }, LONG_MS)

    async function open(): Promise<Locks> {
      const { store, end } = await service.open(at, { library, load: loadModule })
      ends.push(end)
      return (locks = createLocks(store))
    }

    async function expectBound(): Promise<void> {
      if (!locks) throw new Error('No store is open.')
      const startMs = performance.now()
      const attempts = [
        locks.mutex('tried').tryAcquire(),
        locks.mutex('not waited for').acquire({ waitMs: 0 }),
      ]
      const reason: unknown = expect.objectContaining({ code: 'STORE_UNAVAILABLE' })
      const rejected = { status: 'rejected', reason }
      expect(await Promise.allSettled(attempts)).toEqual([rejected, rejected])
      expect(performance.now() - startMs).toBeLessThan(BOUND_MS + LATE_MS)
    }

    test('from the start: one attempt rejects within the bound', async () => {
      setSilent(true)
      await open()
      await expectBound()
    }, 60_000)

    test(
      'later: one attempt rejects within the bound',
      async ({ skip }) => {
        if (ANNOUNCED.has(name)) skip('its members announce addresses of their own')
        for (const proxy of proxies) proxy.reset()
        await locks?.close({ graceMs: 0 })
        setSilent(false)
        const before = (await open()).mutex('before')
        await (await before.acquire({ waitMs: 60_000 })).release()
        setSilent(true)
        await expectBound()
        const signal = AbortSignal.timeout(100)
        const aborted = locks?.mutex('aborted').tryAcquire({ signal })
        await expect(aborted).rejects.toMatchObject({ name: 'TimeoutError' })
      },
      LONG_MS,
    )
  })
})
