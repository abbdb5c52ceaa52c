/**
 * Closing a client in the very turn in which something else happens, and what becomes of what it
 * leaves behind.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { onLockEvent } from 'holdfast'
import { expect, test } from 'vitest'
import { deferred, makeWorld, outcomeOf } from '../support/world.js'

const TTL_MS = 1000

test.each(['tryAcquire', 'acquire'] as const)(
  'ends a %s that is in flight, and leaves nothing',
  async (how) => {
    const { clock, client, direct } = makeWorld()
    const locks = client({ ttlMs: TTL_MS })
    const mutex = locks.mutex('a')
    const asked = outcomeOf<unknown>(
      how === 'acquire' ? mutex.acquire({ waitMs: 0 }) : mutex.tryAcquire(),
    )
    await clock.until(locks.close())
    expect(await asked).toMatchObject({ error: { code: 'LOCKS_CLOSED', lock: 'a' } })
    expect(await direct().mutex('a').tryAcquire()).toBeDefined()
  },
)

test.each(['tryAcquire', 'acquire'] as const)(
  'ends a %s whose lease was released before its signal was ready, and leaves nothing',
  async (how) => {
    const { direct } = makeWorld()
    const locks = direct({ ttlMs: TTL_MS, abortBeforeMs: TTL_MS / 4 })
    const asked = outcomeOf<unknown>(locks.mutex('a')[how]())
    await locks.close()
    expect(await asked).toMatchObject({ error: { code: 'LOCKS_CLOSED', lock: 'a' } })
    expect(await direct().mutex('a').tryAcquire()).toBeDefined()
  },
)

test('a wait of no time hears of its signal while it asks', async () => {
  const { clock, client, direct } = makeWorld()
  const user = new AbortController()
  const asked = outcomeOf(client().mutex('a').acquire({ waitMs: 0, signal: user.signal }))
  user.abort(new Error('the user went away'))
  expect(await clock.until(asked)).toMatchObject({ error: { message: 'the user went away' } })
  await clock.advance(10)
  expect(await direct().mutex('a').tryAcquire()).toBeDefined()
})

test('work whose grant arrives in the turn of the close does not begin', async () => {
  const { direct } = makeWorld()
  const locks = direct()
  let begun = false
  const run = outcomeOf(locks.mutex('a').run(() => (begun = true)))
  await locks.close()
  expect(await run).toMatchObject({ error: { code: 'LOCKS_CLOSED', lock: 'a' } })
  expect(begun).toBe(false)
})

test('a lease that was left to expire cannot be renewed any more, and its work ends well', async () => {
  const { clock, wire, client, direct } = makeWorld()
  const locks = client({ ttlMs: TTL_MS })
  const gate = deferred()
  const renewal = deferred<unknown>()
  const run = locks.mutex('a').run(async (lease) => {
    await gate.promise
    renewal.resolve(await outcomeOf(lease.renew()))
    return 'done'
  })
  const others = direct()
  await clock.advance(10)
  await clock.until(locks.close({ graceMs: 0 }))
  wire.fate = () => 'fail' // as a store that was closed
  gate.resolve()
  expect(await renewal.promise).toMatchObject({ error: { code: 'LOCKS_CLOSED' } })
  const startedMs = clock.monotonicMs()
  expect(await clock.until(run)).toBe('done')
  expect(clock.monotonicMs() - startedMs).toBeLessThan(100)
  expect(await others.mutex('a').tryAcquire()).toBeUndefined()
  await clock.advance(TTL_MS)
  expect(await others.mutex('a').tryAcquire()).toBeDefined()
})

test('a renewal that was in flight does not bring back a lease that was left to expire', async () => {
  const { clock, wire, client, direct } = makeWorld()
  const locks = client({ ttlMs: TTL_MS })
  void locks.mutex('a').run(() => new Promise(() => undefined))
  await clock.advance(10)
  wire.latencyMs = 50
  await clock.advance(TTL_MS / 3)
  await clock.until(locks.close({ graceMs: 0 }))
  wire.latencyMs = 1
  await clock.advance(2 * TTL_MS)
  expect(await direct().mutex('a').tryAcquire()).toBeDefined()
})

test('a release after its limit says once that it ended, and how', async () => {
  const { clock, client } = makeWorld()
  const heard: string[] = []
  const stops = [
    onLockEvent('lost', ({ reason }) => heard.push(`lost: ${reason}`)),
    onLockEvent('released', ({ outcome }) => heard.push(`released: ${outcome}`)),
  ]
  const lease = await clock.until(client({ ttlMs: TTL_MS, maxHoldMs: 200 }).mutex('a').acquire())
  await clock.advance(3 * TTL_MS)
  expect(await clock.until(lease.release())).toBe('lost')
  for (const stop of stops) stop()
  expect(heard).toEqual(['lost: max-hold'])
})

test('a release that was in flight is through when the end has come', async () => {
  const { clock, wire, client, store } = makeWorld()
  const locks = client({ ttlMs: TTL_MS })
  const lease = await clock.until(locks.mutex('a').acquire())
  wire.latencyMs = 100
  // The first one is answered never, and sent again.
  let withdrawals = 0
  wire.fate = (verb) => (verb === 'withdraw' && (withdrawals += 1) === 1 ? 'fail' : 'deliver')
  const released = lease.release()
  await clock.until(locks.close())
  expect(await store.inspect(['a'])).toEqual([])
  expect(await released).toBe('released')
})

test('a store that fails delays the close by the time for releases and withdrawals', async () => {
  const { clock, wire, client } = makeWorld()
  const locks = client({ ttlMs: 60_000 })
  await clock.until(locks.mutex('a').acquire())
  wire.fate = () => 'fail'
  const startedMs = clock.monotonicMs()
  await clock.until(locks.close())
  expect(clock.monotonicMs() - startedMs).toBeLessThan(10_000 + 5000 + 300)
})

test('a release that is tried again keeps the process alive for the caller that awaits it', async () => {
  const script = `
    import { createLocks, StoreUnavailableError } from 'holdfast'
    import { memoryStore } from 'holdfast/memory'
    const store = memoryStore()
    let failures = 2
    const withdraw = store.withdraw.bind(store)
    store.withdraw = (claim) => (failures-- > 0 ? Promise.reject(new StoreUnavailableError('away')) : withdraw(claim))
    const lease = await createLocks(store).mutex('a').acquire()
    console.log(await lease.release())
  `
  const args = ['--input-type=module', '-e', script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname })
  expect(stdout).toBe('released\n')
})
