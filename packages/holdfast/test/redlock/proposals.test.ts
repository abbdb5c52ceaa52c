/**
 * Proposed tokens, over three nodes whose clocks the test sets: a majority that takes the proposal
 * is asked for no seals.
 */
import { redlockStore } from 'holdfast/redlock'
import type { AttemptResult, Store } from 'holdfast/store'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import { openClient } from '@holdfast/servers/redis-clients'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { after, closing } from '../../../../test/support/after.js'
import { systemClock } from '../../dist/clock/clock.js'
import { clockedClient, type ScriptEdit } from '../redis/support/clocked.js'
import { verbsOf } from '../redis/support/verbs-of.js'
import { claimOf } from './support/world.js'

const NOW_MS = 1_900_000_000_000
const LEAD_MS = 250
const MOST_AHEAD_MS = 500
const HOUR_MS = 3_600_000
const TRY = { enqueue: false, tokens: 1 }
/** How far the nodes' clocks are from the time of the test. */
const APART = [0, 20, -30]
const FASTEST_MS = 20
const UNLIMITED: ScriptEdit[] = [
  {
    find: 'math.min(sub(call_form, command_at + 6) + 0, token_floor + 500000)',
    replace: 'sub(call_form, command_at + 6) + 0',
  },
]

let servers: readonly RedisServer[]
let lock: string
let locks = 0

beforeAll(async () => {
  servers = await Promise.all(Array.from({ length: 3 }, () => startRedis()))
})
afterAll(async () => {
  for (const server of servers) await server.stop()
})

interface Opened {
  readonly store: Store
  /** The verbs of all calls so far, one letter for each request. */
  verbs(): string
  /** How long each node keeps what it knows of the lock. */
  keptMs(): Promise<number[]>
}

/** Opens a store of a client whose clock is off by this. */
async function openBehind(offMs: number, edits: readonly ScriptEdit[] = []): Promise<Opened> {
  lock = `lock:${(locks += 1)}`
  let verbs = ''
  const clients = servers.map(({ url }) => {
    const opened = openClient('ioredis6', url)
    after(() => opened.end())
    const { client, setTime } = clockedClient(
      opened.client as Parameters<typeof clockedClient>[0],
      edits,
    )
    const call = client.call.bind(client)
    client.call = (name, ...args) => {
      verbs += verbsOf([name, ...args])
      return call(name, ...args)
    }
    return { client, setTime, call }
  })
  for (const [node, { setTime }] of clients.entries()) await setTime(NOW_MS + (APART[node] ?? 0))
  const clock = { ...systemClock, wallMs: () => NOW_MS + offMs }
  const all = clients.map(({ client }) => client)
  const store = closing(redlockStore({ clients: all, clock, nodeTimeoutMs: 10_000 }))
  const keptMs = async (): Promise<number[]> =>
    Promise.all(clients.map(async ({ call }) => Number(await call('PTTL', `hf:{${lock}}`))))
  return { store, verbs: () => verbs, keptMs }
}

function tokenOf(result: AttemptResult): bigint {
  if (result.outcome !== 'granted') throw new Error(`It was ${result.outcome}.`)
  return result.token
}

function tokenAt(ms: number): bigint {
  return BigInt(ms) * 1000n
}

test('clocks that differ by less than the lead give one token without seals', async () => {
  const { store, verbs } = await openBehind(0)
  const claim = claimOf(lock)
  expect(tokenOf(await store.attempt(claim, TRY))).toBe(tokenAt(NOW_MS + LEAD_MS))
  expect(await store.withdraw(claim)).toBe('released')
  // The last token is larger than the proposal now, and it is the same at all nodes.
  const next = claimOf(lock)
  expect(tokenOf(await store.attempt(next, TRY))).toBe(tokenAt(NOW_MS + LEAD_MS) + 1n)
  expect(verbs()).not.toContain('s')
})

test('client whose clock is behind the nodes seals the largest vote', async () => {
  const { store, verbs } = await openBehind(-HOUR_MS)
  const token = tokenOf(await store.attempt(claimOf(lock), TRY))
  expect([tokenAt(NOW_MS), tokenAt(NOW_MS + FASTEST_MS)]).toContain(token)
  expect(verbs()).toContain('s')
})

describe('client whose clock is an hour ahead', () => {
  test('moves no token further than half a second ahead of a node', async () => {
    const { store, verbs } = await openBehind(HOUR_MS)
    const token = tokenOf(await store.attempt(claimOf(lock), TRY))
    expect(token).toBeLessThanOrEqual(tokenAt(NOW_MS + FASTEST_MS + MOST_AHEAD_MS))
    expect(token).toBeGreaterThan(tokenAt(NOW_MS))
    expect(verbs()).toContain('s')
  })

  test('moves tokens an hour ahead without that limit', async () => {
    const { store } = await openBehind(HOUR_MS, UNLIMITED)
    const token = tokenOf(await store.attempt(claimOf(lock), TRY))
    expect(token).toBe(tokenAt(NOW_MS + HOUR_MS + LEAD_MS))
  })
})

test('nodes remember a proposed token for a minute after their clocks have passed it', async () => {
  const { store, keptMs } = await openBehind(0)
  expect(await store.attempt(claimOf(lock, { ttlMs: 100 }), TRY)).toBeDefined()
  // The real clock has gone on a little since.
  for (const ms of await keptMs()) expect(ms).toBeGreaterThan(60_000 + LEAD_MS - 50)
})
