/** What a holder does in the first moment after a block, on real services. */
import { setTimeout as delay } from 'node:timers/promises'
import { storeOf } from '@holdfast/stores'
import type { RunningService } from '@holdfast/stores/descriptor'
import { startRestBridge } from '@holdfast/servers/redis-rest'
import { startRedis } from '@holdfast/servers/redis'
import { createLocks, type Locks, type LocksOptions } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { openStore } from 'holdfast/url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { after } from '../../../../../../test/support/after.js'
import { Holder, timeToLock } from './holder-process.js'

/** A busy machine may let the worker wait for a second. */
const TTL_MS = 3000
const OPTIONS = { ttlMs: TTL_MS, renewFrom: 'worker', blockedAtMostMs: 60_000 } as const

function closing(locks: Locks): Locks {
  after(() => locks.close({ graceMs: 0 }))
  return locks
}

describe.each(['redis', 'postgres', 'embedded'])('on %s', (name) => {
  let running: RunningService
  let url: string

  beforeAll(async () => {
    running = await storeOf(name).service.start()
    const [at = ''] = running.at
    url = name === 'embedded' ? `embedded:${at}` : at
  })

  afterAll(async () => running.remove())

  async function contender(): Promise<Locks> {
    return closing(createLocks(await openStore(url), { ttlMs: TTL_MS }))
  }

  /** The module of a worker whose renewals leave late. */
  function noted(lateMs = 0): string {
    const module = new URL('noted-store.mjs', import.meta.url)
    module.searchParams.set('store', url)
    module.searchParams.set('lateMs', String(lateMs))
    return module.href
  }

  /** Starts a holder whose worker is connected before the block. */
  function holder(more: object, options: LocksOptions = { workerStore: noted() }): Holder {
    const terms = { url, awaitWorker: true, options: { ...OPTIONS, ...options } }
    return new Holder({ ...terms, ...more })
  }

  test('an export right after a block hands the lease on, and the worker renews it no more', async () => {
    const others = await contender()
    const exporter = holder({ scene: 'export', blockMs: 2 * TTL_MS })
    const { handle = '' } = await exporter.until('exported')
    const lease = await others.mutex('a').adopt(handle)
    expect(lease.held).toBe(true)
    expect(await exporter.exit).toBe(0)
    await delay(1.5 * TTL_MS)
    expect(lease.held).toBe(true)
    expect(await (await contender()).mutex('a').tryAcquire()).toBeUndefined()
    expect(await lease.release()).toBe('released')
    const steps = new Set(exporter.lines.map(({ step }) => step))
    expect(steps).toEqual(new Set(['held', 'renewed-late', 'exported']))
  })

  test('a lease that is exported right after a block ends with its TTL', async () => {
    const others = await contender()
    const exporter = holder({ scene: 'export', blockMs: 1.5 * TTL_MS })
    await exporter.until('exported')
    expect(await timeToLock(others)).toBeLessThan(TTL_MS + 1000)
  })

  test('a renewal of the worker that reaches the store after the release is lost', async () => {
    const others = await contender()
    // The worker sends its first renewal after a third of the TTL, and it leaves two seconds later.
    const late = holder({ blockMs: 2000, lingerMs: 5000 }, { workerStore: noted(2000) })
    expect(await late.until('woke')).toMatchObject({ held: true, outcome: 'released' })
    const lease = await others.mutex('a').acquire({ waitMs: 1000 })
    const { outcome } = await late.until('renewed-late')
    expect(outcome).toBe('lost')
    await lease.renew()
    expect(await lease.release()).toBe('released')
    const again = await others.mutex('a').tryAcquire()
    expect(again).toBeDefined()
    await again?.release()
  })

  test('the death of the worker is the loss of a helper, and of no lease', async () => {
    const workerStore = new URL('dying-store.mjs', import.meta.url).href
    const holding = holder(
      { scene: 'wait', blockMs: 2 * TTL_MS, awaitWorker: false },
      { workerStore },
    )
    expect(await holding.until('over')).toMatchObject({ held: true })
    const steps = holding.lines.map(({ step }) => step).toSorted()
    expect(steps).toEqual(['held', 'helper-lost', 'over'])
  })
})

test('over HTTP a worker opens the store by its URL and token, and keeps a blocked lease', async () => {
  const redis = await startRedis()
  after(() => redis.stop())
  const bridge = await startRestBridge(redis.url)
  after(() => bridge.stop())
  const rest = { url: bridge.url, token: bridge.token }
  const others = closing(createLocks(redisStore(rest)))
  const holder = new Holder({ rest, warmMs: 3000, options: OPTIONS, blockMs: 2 * TTL_MS })
  await holder.until('held')
  const tookMs = await timeToLock(others)
  expect(await holder.until('woke')).toMatchObject({ held: true, outcome: 'released' })
  expect(tookMs).toBeGreaterThan(1.8 * TTL_MS)
  expect(holder.lines.filter(({ step }) => step === 'helper-lost')).toEqual([])
})
