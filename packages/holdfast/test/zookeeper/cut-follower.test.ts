/**
 * A client and its follower are lost together, right after a renewal and a grant. The follower has
 * not yet reported them to the leader.
 */
import { expect, test } from 'vitest'
import type { Claim, Store } from 'holdfast/store'
import { after, makeClaim, openStore, QUEUE, start } from './support/world.js'

/** For this long the process does nothing, not even send a sign of life. */
const PAUSED_MS = 5000
const TTL_MS = 9000

function pauseProcess(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSED_MS)
}

/** Resolves when the claim of a waiter is granted, on the monotonic clock. */
async function grantOf(store: Store, claim: Claim): Promise<number> {
  for (;;) {
    const answer = await store.attempt(claim, QUEUE)
    if (answer.outcome === 'granted') return performance.now()
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

test(
  'no other client is granted the lock before the leases of the lost one end',
  { timeout: 120_000 },
  async () => {
    const ensemble = await start({ servers: 3 })
    const leader = await ensemble.leader()
    const lost = leader === 0 ? 1 : 0
    const rest = ensemble.ports.filter((_, index) => index !== lost).map((it) => `127.0.0.1:${it}`)
    const holder = openStore({ connect: `127.0.0.1:${ensemble.ports[lost]}` })
    const others = openStore({ connect: rest.join() })
    const old = makeClaim('old', { ttlMs: TTL_MS })
    const fresh = makeClaim('fresh', { ttlMs: TTL_MS })
    expect(await holder.attempt(old, QUEUE)).toMatchObject({ outcome: 'granted' })
    pauseProcess()
    const startMs = performance.now()
    const [granted, renewed] = await Promise.all([
      holder.attempt(fresh, QUEUE),
      holder.renew([old]),
    ])
    await ensemble.members[lost]?.pause()
    after(async () => ensemble.members[lost]?.resume())
    expect(renewed).toEqual([{ outcome: 'renewed' }])
    expect(granted).toMatchObject({ outcome: 'granted' })
    const freshMs = 'ttlMs' in granted ? granted.ttlMs : 0
    const next = [makeClaim('old', { ttlMs: TTL_MS }), makeClaim('fresh', { ttlMs: TTL_MS })]
    const [oldMs = 0, nextMs = 0] = await Promise.all(next.map((one) => grantOf(others, one)))
    expect(oldMs - startMs).toBeGreaterThan(TTL_MS)
    expect(nextMs - startMs).toBeGreaterThan(freshMs)
  },
)
