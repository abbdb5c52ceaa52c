/** Processes that block their event loops under a lock, with a worker that renews. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import { createLocks, type Locks, type LocksOptions } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'
import { openStore } from 'holdfast/url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { after } from '../../../../../../test/support/after.js'
import { isFull } from '../../../../../../test/support/plan.js'
import { Holder, timeToLock } from './holder-process.js'

let redis: RedisServer
let folder: string

beforeAll(async () => {
  redis = await startRedis()
  folder = mkdtempSync(join(tmpdir(), 'holdfast-worker-'))
})

afterAll(async () => {
  await redis.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function contender(prefix: string): Promise<Locks> {
  const locks = createLocks(await openStore(`${redis.url}?prefix=${prefix}`))
  after(() => locks.close({ graceMs: 0 }))
  return locks
}

function holderOn(prefix: string, more: object, options: LocksOptions = {}): Holder {
  return new Holder({
    url: `${redis.url}?prefix=${prefix}`,
    options: { ttlMs: 1500, renewFrom: 'worker', blockedAtMostMs: 60_000, ...options },
    ...more,
  })
}

/** Starts a holder in a folder, which is opened from its plain options. */
function holderIn(name: string, more: object): Holder {
  const options = { ttlMs: 1500, renewFrom: 'worker', blockedAtMostMs: 60_000 }
  return new Holder({ directory: join(folder, name), options, ...more })
}

describe('on Redis', () => {
  test('a blocked event loop keeps its lock beside a process that waits', async () => {
    const [ttlMs, blockMs] = isFull() ? [5000, 20_000] : [1500, 4000]
    const others = await contender('block')
    const holder = holderOn('block', { blockMs }, { ttlMs })
    await holder.until('held')
    const tookMs = await timeToLock(others)
    expect(await holder.until('woke')).toMatchObject({ held: true, outcome: 'released' })
    expect(tookMs).toBeGreaterThan(blockMs - 500)
    expect(await holder.exit).toBe(0)
    expect(holder.lines.map(({ step }) => step)).toEqual(['held', 'woke', 'closed'])
  })

  test('a block that begins with the grant is renewed, as soon as the worker has connected', async () => {
    // On a busy machine a worker takes seconds to connect.
    const holder = holderOn('at-once', { blockMs: 12_000, scene: 'at-once' }, { ttlMs: 8000 })
    expect(await holder.until('woke')).toMatchObject({ held: true, outcome: 'released' })
  })

  test('beyond the cap another process has the lock, and `held` is false on waking', async () => {
    const others = await contender('cap')
    const holder = holderOn('cap', { blockMs: 6000 }, { blockedAtMostMs: 2500 })
    await holder.until('held')
    const tookMs = await timeToLock(others)
    expect(tookMs).toBeGreaterThan(2000)
    expect(tookMs).toBeLessThan(4500)
    expect(await holder.until('woke')).toMatchObject({ held: false, outcome: 'lost' })
  })

  test('a killed process frees the lock after its TTL', async () => {
    const others = await contender('kill')
    const holder = holderOn('kill', { blockMs: 60_000 })
    await holder.until('held')
    await delay(2500)
    holder.process.kill('SIGKILL')
    expect(await timeToLock(others)).toBeLessThan(2500)
  })

  test('a stopped process stops its worker, and finds its lease lost', async () => {
    const others = await contender('stop')
    const holder = holderOn('stop', { blockMs: 6000 })
    await holder.until('held')
    await delay(2500)
    holder.process.kill('SIGSTOP')
    expect(await timeToLock(others)).toBeLessThan(2500)
    await delay(500)
    holder.process.kill('SIGCONT')
    expect(await holder.until('woke')).toMatchObject({ held: false, outcome: 'lost' })
  })

  test('a worker that dies is an event, and the lease continues', async () => {
    const workerStore = fileURLToPath(new URL('dying-store.mjs', import.meta.url))
    const holder = holderOn('dying', { scene: 'wait', blockMs: 3000 }, { workerStore })
    expect(await holder.until('over')).toMatchObject({ held: true })
    expect(holder.lines.filter(({ step }) => step === 'helper-lost')).toEqual([
      { step: 'helper-lost', error: expect.stringContaining('code 7') as string },
    ])
  })

  test('a module without a store is the error of the event', async () => {
    const workerStore = fileURLToPath(new URL('../../../../dist/errors.js', import.meta.url))
    const holder = holderOn('none', { scene: 'wait', blockMs: 1000 }, { workerStore })
    await holder.until('over')
    expect(holder.lines).toContainEqual({
      step: 'helper-lost',
      error: expect.stringContaining('is no store') as string,
    })
  })
})

describe('on the embedded store', () => {
  test('a blocked event loop keeps its lock beside a process that waits', async () => {
    const others = createLocks(embeddedStore({ directory: join(folder, 'block') }))
    after(() => others.close({ graceMs: 0 }))
    const holder = holderIn('block', { blockMs: 4000 })
    await holder.until('held')
    expect(await timeToLock(others)).toBeGreaterThan(3500)
    expect(await holder.until('woke')).toMatchObject({ held: true, outcome: 'released' })
  })

  test('the worker does not keep the process alive', async () => {
    const holder = holderIn('end', { scene: 'end' })
    await holder.until('held')
    expect(await holder.exit).toBe(0)
  })
})
