/**
 * The clock of a database is set while locks are held. What a step does to expiry is documented.
 * It must never give a token that does not grow, or leave a lock that no client can acquire.
 */
import type { AttemptResult } from 'holdfast/store'
import { afterAll, describe, expect, test } from 'vitest'
import { claim, startKits, tokenOf } from './kits.js'

const NOW_MS = 1_700_000_000_000
const STEP_MS = 3_600_000
const TTL_MS = 1000

const { kits, stop } = await startKits()
afterAll(stop)

describe.each(kits)('$name', ({ store, setClock }) => {
  const attempt = (lock: string, id: string): AttemptResult | PromiseLike<AttemptResult> =>
    store.attempt(claim(lock, id), { enqueue: false, tokens: 1 })

  test('set back: the holder keeps the lock and renews it, and the next token is larger all the same', async () => {
    await setClock(NOW_MS)
    const first = tokenOf(await attempt('back', 'a'))
    await setClock(NOW_MS - STEP_MS)
    expect(await attempt('back', 'b')).toMatchObject({ outcome: 'busy' })
    const { owner } = claim('back', 'a')
    expect(await store.renew([{ lock: 'back', id: 'a', ttlMs: TTL_MS, owner }])).toEqual([
      { outcome: 'renewed' },
    ])
    // It lives by the clock as it is now: dead after its TTL, not an hour later.
    await setClock(NOW_MS - STEP_MS + TTL_MS + 1)
    const second = tokenOf(await attempt('back', 'b'))
    expect(second).toBeGreaterThan(first)
    expect(await store.withdraw(claim('back', 'b'))).toBe('released')
    expect(tokenOf(await attempt('back', 'c'))).toBeGreaterThan(second)
  })

  test('set back under a holder that died: it costs the step, and not more', async () => {
    await setClock(NOW_MS)
    const first = tokenOf(await attempt('dead', 'a'))
    await setClock(NOW_MS - STEP_MS)
    expect(await attempt('dead', 'b')).toMatchObject({ outcome: 'busy' })
    await setClock(NOW_MS + TTL_MS + 1)
    expect(tokenOf(await attempt('dead', 'b'))).toBeGreaterThan(first)
  })

  test('set forward: the lease ends early, its holder learns it, and only the token distinguishes the two', async () => {
    await setClock(NOW_MS)
    const first = tokenOf(await attempt('forth', 'a'))
    await setClock(NOW_MS + STEP_MS)
    const second = tokenOf(await attempt('forth', 'b'))
    expect(second).toBeGreaterThan(first)
    const { owner } = claim('forth', 'a')
    expect(await store.renew([{ lock: 'forth', id: 'a', ttlMs: TTL_MS, owner }])).toEqual([
      { outcome: 'lost', reason: 'expired' },
    ])
    await setClock(NOW_MS)
    expect(await store.withdraw(claim('forth', 'b'))).toBe('released')
    expect(tokenOf(await attempt('forth', 'c'))).toBeGreaterThan(second)
  })
})
