/**
 * The same histories through the Lua scripts and through the memory store's rule: the same
 * decisions, the same tokens, the same wake-ups, to the millisecond.
 */
import { Redis } from 'ioredis5'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import { planOf } from '../../../../test/support/plan.js'
import { DEAD_HOLDERS, DEAD_WAITERS } from './support/mutations.js'
import { playHistory, type Circumstances } from './support/play.js'

const HISTORIES = { fast: 10, usual: 60, full: 600 }[planOf()]
const ABANDONED: Circumstances = { crowded: true, abandoned: 0.07, restarts: 0 }
const ALL_OUTCOMES = [
  'granted',
  'waiting',
  'busy',
  'withdrawn',
  'renewed',
  'lost',
  'released',
  'left',
  'absent',
  'pushed',
]

let server: RedisServer
let redis: Redis

beforeAll(async () => {
  server = await startRedis({ appendOnly: true, config: [['appendfsync', 'no']] })
  redis = new Redis(server.url, { retryStrategy: () => 10 })
  redis.on('error', () => undefined)
})

afterAll(async () => {
  redis.disconnect()
  await server.stop()
})

async function play(seeds: number, circumstances: Circumstances): Promise<Map<string, number>> {
  const outcomes = new Map<string, number>()
  // The histories of the test before have the same locks and times.
  await redis.flushdb()
  for (let seed = 1; seed <= seeds; seed += 1) {
    await playHistory({ server, redis, outcomes }, seed, circumstances)
  }
  return outcomes
}

test.each([
  ['', { crowded: false, abandoned: 0, restarts: 0 }],
  [' although all clients die and most keys end', ABANDONED],
])(`${HISTORIES} histories are decided alike%s`, { timeout: 240_000 }, async (_, circumstances) => {
  const outcomes = await play(HISTORIES, circumstances)
  // A comparison of histories in which nothing happens would pass as well.
  for (const what of ALL_OUTCOMES)
    expect(outcomes.get(what) ?? 0, what).toBeGreaterThan(HISTORIES / 2)
})

test('histories are decided alike although the server restarts', { timeout: 240_000 }, async () => {
  await play(HISTORIES / 10, { crowded: true, abandoned: 0.05, restarts: 0.05 })
})

test.each([
  ['dead holders in the count of later ones', DEAD_HOLDERS],
  ['dead waiters in the queue of later ones', DEAD_WAITERS],
])('the histories show %s', async (_, edits) => {
  await expect(play(HISTORIES, { ...ABANDONED, edits })).rejects.toThrow(/seed \d+/)
})
