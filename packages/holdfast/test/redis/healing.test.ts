/** Locks whose count broken scripts, or a lost key, left wrong on the server. */
import { redisStore } from 'holdfast/redis'
import type { Claim, Store } from 'holdfast/store'
import { expect, test } from 'vitest'
import { clockedClient } from './support/clocked.js'
import { DEAD_HOLDERS, NO_RECOUNT } from './support/mutations.js'
import { closing, connectTo, makeClaim, startServer, take, TRY } from './support/world.js'

const START_MS = 1_800_000_000_000
const TTL_MS = 2000
/** The head of a lock ends so long after its last lease. */
const KEEP_MS = 60_000

interface Versions {
  readonly older: Store
  readonly newer: Store
  readonly redis: Parameters<typeof clockedClient>[0]
  pass(ms: number): Promise<unknown>
}

async function startVersions(edits: typeof DEAD_HOLDERS): Promise<Versions> {
  const server = await startServer()
  const redis = connectTo(server.url) as Versions['redis']
  const { client, setTime } = clockedClient(redis, edits)
  let nowMs = START_MS
  await setTime(nowMs)
  return {
    older: closing(redisStore({ client })),
    newer: closing(redisStore({ client: clockedClient(redis).client })),
    redis,
    pass: (ms) => setTime((nowMs += ms)),
  }
}

function permit(changes: Partial<Claim> = {}): Claim {
  return makeClaim('lock', { kind: 'semaphore', capacity: 3, weight: 1, ttlMs: TTL_MS, ...changes })
}

/** How many permits another client gets. */
async function freePermits(store: Store): Promise<number> {
  const claims: Claim[] = []
  for (
    let claim = permit();
    (await store.attempt(claim, TRY)).outcome === 'granted';
    claim = permit()
  ) {
    claims.push(claim)
    if (claims.length === 10) break
  }
  for (const claim of claims) await store.withdraw(claim)
  return claims.length
}

test('a count below zero heals at the first look, and its holders keep their leases', async () => {
  const { older, newer, redis, pass } = await startVersions(DEAD_HOLDERS)
  for (let index = 0; index < 3; index += 1) await take(older, permit())
  // Halfway between the end of the head and that of the key of the holders.
  await pass(1.5 * TTL_MS + KEEP_MS)
  await take(older, permit())
  await pass(TTL_MS / 2)
  const living = [permit(), permit()]
  await take(older, living[0] as Claim)
  await pass(TTL_MS / 2)
  await take(older, living[1] as Claim)
  const held = await redis.call(
    'EVAL',
    `return cmsgpack.unpack(redis.call('GET', KEYS[1]))[4]`,
    '1',
    'hf:{lock}',
  )
  expect(held).toBe(-1)
  expect(await freePermits(newer)).toBe(1)
  expect(await newer.renew(living)).toEqual([{ outcome: 'renewed' }, { outcome: 'renewed' }])
})

test('permits without a holder are free at the first look', async () => {
  const { older, newer, redis, pass } = await startVersions(NO_RECOUNT)
  for (let index = 0; index < 3; index += 1) await take(older, permit())
  await redis.call('DEL', 'hf:{lock}:h')
  await pass(TTL_MS + 1)
  expect(await freePermits(older)).toBe(0)
  await pass(TTL_MS)
  expect(await freePermits(older)).toBe(0)
  expect(await freePermits(newer)).toBe(3)
})
