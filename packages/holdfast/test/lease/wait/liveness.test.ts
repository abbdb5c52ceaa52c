/** A pending call keeps the process alive. Nothing else of a client does. */
import { createHook } from 'node:async_hooks'
import { createLocks } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import type { Adoption, ClaimRef } from 'holdfast/store'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { outcomeOf } from '../../support/world.js'

/** As long as Node can count. The timers of the test runner are shorter. */
const LONGEST_MS = 2 ** 31 - 1

interface LongTimer {
  hasRef?(): boolean
}

const longTimers: LongTimer[] = []
const hook = createHook({
  init(_id, type, _trigger, resource: LongTimer) {
    if (type === 'Timeout' && Reflect.get(resource, '_idleTimeout') === LONGEST_MS)
      longTimers.push(resource)
  },
})
beforeAll(() => void hook.enable())
afterAll(() => void hook.disable())

/** How many timers of Holdfast keep the process alive now. */
function timers(): number {
  return longTimers.filter((timer) => timer.hasRef?.()).length
}

describe('keeps the process alive', () => {
  test('a wait, and the next one, until they settle', async () => {
    const before = timers()
    const store = memoryStore()
    const holder = await createLocks(store).mutex('a').acquire()
    const locks = createLocks(store)
    for (let wait = 0; wait < 2; wait += 1) {
      const controller = new AbortController()
      const outcome = outcomeOf(locks.mutex('a').acquire({ signal: controller.signal }))
      expect(timers()).toBeGreaterThan(before)
      controller.abort()
      await outcome
      expect(timers()).toBe(before)
    }
    await holder.release()
    expect(timers()).toBe(before)
    await locks.close()
  })

  test('a wait behind a holder of the same process, however long that holds', async () => {
    const before = timers()
    const locks = createLocks(memoryStore())
    const first = await locks.mutex('a').acquire()
    expect(timers()).toBe(before)
    const waiting = [locks.mutex('a').acquire(), locks.mutex('a').acquire()]
    expect(timers()).toBeGreaterThan(before)
    await first.release()
    await (await waiting[0])?.release()
    await (await waiting[1])?.release()
    expect(timers()).toBe(before)
    await locks.close()
  })

  test('an inspection, a downgrade and an export, until the store has answered', async () => {
    const answers: (() => void)[] = []
    const later = <T>(work: () => T): Promise<Awaited<T>> =>
      new Promise<void>((resolve) => void answers.push(resolve)).then(work) as Promise<Awaited<T>>
    const store = memoryStore()
    const [inspect, downgrade] = [store.inspect.bind(store), store.downgrade.bind(store)]
    Object.assign(store, {
      traits: { ...store.traits, adopt: true },
      inspect: (names: readonly string[]) => later(() => inspect(names)),
      downgrade: (claim: ClaimRef) => later(() => downgrade(claim)),
      adopt: ({ token, to: { ttlMs } }: Adoption) =>
        later(() => ({ outcome: 'granted', token, tokens: 1, ttlMs, remainingMs: ttlMs })),
    })
    const lock = createLocks(store).readWriteLock('a').write
    const lease = await lock.acquire()
    const before = timers()
    for (const call of [() => lock.inspect(), () => lease.downgrade(), () => lease.export()]) {
      const outcome = outcomeOf<unknown>(call())
      while (answers.length === 0) await new Promise((resolve) => setImmediate(resolve))
      expect(timers()).toBeGreaterThan(before)
      answers.pop()?.()
      expect(await outcome).toHaveProperty('value')
      expect(timers()).toBe(before)
    }
  })

  test('a run, until its client is closed', async () => {
    const before = timers()
    const locks = createLocks(memoryStore())
    void outcomeOf(locks.mutex('a').run(() => new Promise(() => undefined)))
    await Promise.resolve()
    expect(timers()).toBeGreaterThan(before)
    await locks.close({ graceMs: 0 })
    expect(timers()).toBe(before)
  })
})
