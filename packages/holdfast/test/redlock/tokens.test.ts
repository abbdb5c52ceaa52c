/**
 * Tokens over three nodes whose clocks the test sets: they are unique and grow. Each story runs a
 * second time over nodes with a broken rule, and then shows the wrong token: without that it would
 * prove nothing.
 */
import { redlockStore } from 'holdfast/redlock'
import type { AttemptResult, Claim, Store } from 'holdfast/store'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import { openClient } from '@holdfast/servers/redis-clients'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { after, closing } from '../../../../test/support/after.js'
import { clockedClient, type ScriptEdit } from '../redis/support/clocked.js'
import { claimOf, soon } from './support/world.js'
import { verbsOf } from '../redis/support/verbs-of.js'

const NOW_MS = 1_900_000_000_000
const AHEAD_MS = 8000
const READER = { kind: 'readWriteLock', weight: 1 } as const

const SEAL = 'local function seal(key, head, id, terms)'
const VOTES_ALONE: ScriptEdit[] = [{ find: SEAL, replace: `${SEAL}\ndo return 'sealed' end` }]
const NO_COMPARISON: ScriptEdit[] = [
  { find: 'local is_new = token > state[3]', replace: 'local is_new = true' },
]
/** A seal of another claim, which came late, makes this one pass. */
const LATE_RAISE: ScriptEdit[] = [
  { find: 'or token == holder[6])', replace: 'or token == state[3])' },
]
const EXPIRES_AT_ONCE: ScriptEdit[] = [
  { find: 'local needed_ms = 60000', replace: 'local needed_ms = 1' },
  { find: 'needed_ms = max(needed_ms, 60000 + state[3] / 1000 - now)', replace: '' },
  // The key outlives the tombstones as well.
  { find: 'local keep_ms = 2 * ttl_ms + 60000', replace: 'local keep_ms = 2 * ttl_ms' },
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

/** What a client does with each command for one of its nodes: it sends it, or does not. */
type Pass = (
  node: number,
  args: readonly string[],
  send: () => Promise<unknown>,
) => Promise<unknown>

const straight: Pass = (_node, _args, send) => send()
/** Reaches only these nodes. */
function only(...nodes: number[]): Pass {
  return (node, _args, send) =>
    nodes.includes(node) ? send() : Promise.reject(new Error('no way'))
}

async function startNodes(edits: readonly ScriptEdit[] = []) {
  lock = `lock:${(locks += 1)}`
  const times: ((nowMs: number) => Promise<unknown>)[] = []
  const open = (pass: Pass, options: { maxClockDifferenceMs?: number } = {}): Store => {
    const clients = servers.map(({ url }, node) => {
      const opened = openClient('ioredis6', url)
      after(() => opened.end())
      const clocked = clockedClient(opened.client as Parameters<typeof clockedClient>[0], edits)
      times[node] = clocked.setTime
      const call = clocked.client.call.bind(clocked.client)
      Object.assign(clocked.client, {
        call: (name: string, ...args: string[]) =>
          pass(node, [name, ...args], () => call(name, ...args)),
      })
      return clocked.client
    })
    return closing(redlockStore({ clients, nodeTimeoutMs: 5000, ...options }))
  }
  const setTimes = async (...nowMs: number[]): Promise<void> => {
    for (const [node, ms] of nowMs.entries()) await times[node]?.(ms)
  }
  return { open, setTimes }
}

async function tokenOf(attempt: AttemptResult | PromiseLike<AttemptResult>): Promise<bigint> {
  const result = await attempt
  if (result.outcome !== 'granted') throw new Error(`It was ${result.outcome}.`)
  return result.token
}

function reader(): Claim {
  return claimOf(lock, READER)
}

const TRY = { enqueue: false, tokens: 1 }

/** A claim whose majority has the fast clock, then one whose majority has not. */
async function passFastClock(edits?: readonly ScriptEdit[]): Promise<[bigint, bigint]> {
  const { open, setTimes } = await startNodes(edits)
  const [one, two] = [open(only(0, 2)), open(only(0, 1))]
  await setTimes(NOW_MS, NOW_MS, NOW_MS + AHEAD_MS)
  const claim = claimOf(lock, { ...READER, ttlMs: 1000 })
  const first = await tokenOf(one.attempt(claim, TRY))
  expect(await one.withdraw(claim)).toBe('released')
  const laterMs = NOW_MS + AHEAD_MS - 1000
  await setTimes(laterMs, laterMs, laterMs + AHEAD_MS)
  return [first, await tokenOf(two.attempt(reader(), TRY))]
}

/**
 * Two readers whose largest votes are equal, and which share the first node. Their seals reach it
 * when it has voted for both.
 */
async function passEqualVotes(edits?: readonly ScriptEdit[]): Promise<[bigint, bigint]> {
  let votes = 0
  let release: (() => void) | undefined
  const voted = new Promise<void>((resolve) => (release = resolve))
  const meet =
    (pass: Pass): Pass =>
    async (node, args, send) => {
      if (node === 0 && verbsOf(args).includes('s')) await voted
      const reply = await pass(node, args, send)
      if (node === 0 && verbsOf(args).includes('a') && (votes += 1) === 2) release?.()
      return reply
    }
  const { open, setTimes } = await startNodes(edits)
  const [one, two] = [open(meet(only(0, 1))), open(meet(only(0, 2)))]
  await setTimes(NOW_MS, NOW_MS + AHEAD_MS, NOW_MS + AHEAD_MS)
  const both = [one.attempt(reader(), TRY), two.attempt(reader(), TRY)]
  return Promise.all(both.map(tokenOf)) as Promise<[bigint, bigint]>
}

describe('votes of a fast clock', () => {
  test('raise the token of a later claim that does not ask that node', async () => {
    const [first, second] = await passFastClock()
    expect(first).toBe(BigInt(NOW_MS + AHEAD_MS) * 1000n)
    expect(second).toBeGreaterThan(first)
  })

  test.each([
    ['without seals', VOTES_ALONE],
    ['when last tokens expire at once', EXPIRES_AT_ONCE],
  ])('do not %s', async (_, edits) => {
    const [first, second] = await passFastClock(edits)
    expect(second).toBeLessThan(first)
  })
})

describe('two readers with equal largest votes', () => {
  test('get two tokens', async () => {
    const tokens = await passEqualVotes()
    expect(tokens).toContain(BigInt(NOW_MS + AHEAD_MS) * 1000n)
    expect(new Set(tokens).size).toBe(2)
  })

  test.each([
    ['without seals', VOTES_ALONE],
    ['when seals do not compare', NO_COMPARISON],
    ['when a seal passes that equals the last token of another claim', LATE_RAISE],
  ])('get the same token %s', async (_, edits) => {
    expect(new Set(await passEqualVotes(edits)).size).toBe(1)
  })
})

describe('clocks that are too far apart', () => {
  const FAR = [NOW_MS, NOW_MS + 11_000, NOW_MS + 22_000]

  test('refuse the claim with the time of each node, and leave no vote', async () => {
    const { open, setTimes } = await startNodes()
    const store = open(straight)
    await setTimes(...FAR)
    await expect(store.attempt(claimOf(lock), TRY)).rejects.toMatchObject({
      code: 'STORE_CONFIG',
      lock,
      message: expect.stringMatching(
        /within 10000 ms .*maxClockDifferenceMs.*node 1: 2030.*node 2: 2030.*node 3: 2030/,
      ) as string,
    })
    const other = open(straight, { maxClockDifferenceMs: 60_000 })
    expect(await other.attempt(claimOf(lock), TRY)).toMatchObject({ outcome: 'granted' })
  })

  test('do not count where the others are a majority, on either side', async () => {
    for (const away of [-3_600_000, 3_600_000]) {
      const { open, setTimes } = await startNodes()
      const store = open(straight)
      await setTimes(NOW_MS, NOW_MS + 1000, NOW_MS + away)
      const claim = claimOf(lock)
      expect(await tokenOf(store.attempt(claim, TRY))).toBe(BigInt(NOW_MS + 1000) * 1000n)
      expect(await store.withdraw(claim)).toBe('released')
    }
  })

  test.each([[0], [60_001], [NaN]])('maxClockDifferenceMs of %s is refused', (value) => {
    const clients = servers.map(({ url }) => openClient('ioredis6', url))
    for (const { end } of clients) after(end)
    const options = {
      clients: clients.map(({ client }) => client),
      maxClockDifferenceMs: value,
    }
    expect(() => redlockStore(options)).toThrow('maxClockDifferenceMs must be a number from 1 to')
  })
})

test('thirty readers at once get thirty tokens', async () => {
  const { open, setTimes } = await startNodes()
  const stores = [open(straight), open(straight), open(straight)]
  await setTimes(NOW_MS, NOW_MS + 3, NOW_MS + 1)
  const claims = Array.from({ length: 30 }, reader)
  const tokens = await Promise.all(
    claims.map(async (claim, index) => tokenOf(stores[index % 3]!.attempt(claim, TRY))),
  )
  expect(new Set(tokens).size).toBe(30)
})

test('renewal brings the token to a node that missed the seal, and inspect shows it', async () => {
  let refusing = true
  const { open, setTimes } = await startNodes()
  const store = open((node, args, send) =>
    refusing && node === 1 && verbsOf(args).includes('s')
      ? Promise.reject(new Error('no way'))
      : send(),
  )
  await setTimes(NOW_MS, NOW_MS + 1, NOW_MS + 2)
  const claim = claimOf(lock)
  const token = await tokenOf(store.attempt(claim, TRY))
  refusing = false
  expect(await store.renew([claim])).toEqual([{ outcome: 'renewed' }])
  const second = open(only(0, 1))
  await soon(async () => {
    const shown = await second.inspect([lock])
    expect(shown[0]?.holders[0]?.token).toBe(token)
  })
  // Asked again it is the same.
  expect(await tokenOf(store.attempt(claim, TRY))).toBe(token)
})
