/** Votes that are split, partial, late, or come when nothing is left of what they grant. */
import { inspectPage } from 'holdfast/internal'
import { UnsupportedLockError } from 'holdfast'
import { redlockStore } from 'holdfast/redlock'
import { Cluster, Redis } from 'ioredis6'
import { createCluster, createSentinel } from 'redis6'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  attempt,
  claimOf,
  holderAt,
  holders,
  soon,
  startWorld,
  type World,
} from './support/world.js'
import { verbsOf } from '../redis/support/verbs-of.js'

const LOCK = 'order:1'
let world: World

describe('over five nodes', () => {
  beforeEach(async () => {
    world = await startWorld(5)
  })
  afterEach(() => world.end())

  test('contenders that split the votes do not keep each other out: one of them is granted', async () => {
    // Each is first at some of the nodes and late at the others: two votes, two votes and one.
    const nearest = [[0, 1], [2, 3], [4]]
    const stores = nearest.map((near) =>
      world.open({
        throughProxies: [0, 1, 2, 3, 4].filter((index) => !near.includes(index)),
        nodeTimeoutMs: 60_000,
        requestTimeoutMs: 60_000,
      }),
    )
    for (const store of stores)
      expect(await attempt(store, claimOf(`warm:${stores.indexOf(store)}`))).toBe('granted')
    for (const proxy of world.proxies) proxy.faults.requestMs = 1500
    const claims = stores.map(() => claimOf(LOCK))
    const outcomes = Promise.all(claims.map((claim, index) => attempt(stores[index]!, claim)))
    await soon(async () => {
      const [a, b, c] = claims.map(({ id }) => id)
      expect(await holders(world, LOCK)).toEqual([a, a, b, b, c])
    })
    for (const proxy of world.proxies) proxy.faults.requestMs = 0
    expect((await outcomes).toSorted()).toEqual(['busy', 'busy', 'granted'])
  })

  test('partial votes are released', async () => {
    // Those that refuse are asked last, so that the votes of the others are there when it is
    // decided.
    for (const index of [2, 3, 4])
      expect(await attempt(world.node(index), claimOf(LOCK))).toBe('granted')
    const store = world.open({ throughProxies: [2, 3, 4] })
    for (const proxy of world.proxies) proxy.faults.replyMs = 50
    expect(await attempt(store, claimOf(LOCK))).toBe('busy')
    for (const index of [0, 1])
      expect(await attempt(world.node(index), claimOf(LOCK))).toBe('granted')
  })

  test('partial votes are no holder, and a majority is', async () => {
    const store = world.open()
    const claim = claimOf(LOCK)
    for (const index of [0, 1]) expect(await attempt(world.node(index), claim)).toBe('granted')
    expect(await store.inspect([LOCK])).toEqual([])
    expect(await store.steal(LOCK, { now: false })).toMatchObject({ holders: 0 })
    expect(await attempt(world.node(2), claim)).toBe('granted')
    const { locks } = await inspectPage(store, { prefix: 'order', limit: 10 })
    expect(locks.map(({ holders: [holder] }) => holder?.claimId)).toEqual([claim.id])
  })

  test('votes of its own do not keep a claim out', async () => {
    const store = world.open()
    const claim = claimOf(LOCK)
    // As after an attempt whose answers were lost.
    for (const index of [0, 1]) expect(await attempt(world.node(index), claim)).toBe('granted')
    const result = await store.attempt(claim, { enqueue: false, tokens: 1 })
    expect(result).toMatchObject({ outcome: 'granted' })
  })

  test('a claim that was refused may be granted later', async () => {
    const [store, other] = [world.open(), world.open()]
    const [holder, claim] = [claimOf(LOCK), claimOf(LOCK)]
    expect(await attempt(other, holder)).toBe('granted')
    for (let times = 0; times < 3; times += 1) expect(await attempt(store, claim)).toBe('busy')
    expect(await other.withdraw(holder)).toBe('released')
    expect(await attempt(store, claim)).toBe('granted')
  })

  test('a doubled attempt takes no vote back from the lease that is held', async () => {
    const store = world.open({ nodeTimeoutMs: 1500 })
    const claim = claimOf(LOCK)
    expect(await attempt(store, claim)).toBe('granted')
    await soon(async () => expect(new Set(await holders(world, LOCK))).toEqual(new Set([claim.id])))
    for (const server of world.servers.slice(0, 3)) server.pause()
    // No majority answers now, but the earlier votes of the other two stand.
    await expect(attempt(store, claim)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    for (const server of world.servers.slice(0, 3)) server.resume()
    expect(await store.renew([claim])).toEqual([{ outcome: 'renewed' }])
    expect(await holders(world, LOCK)).toEqual(world.servers.map(() => claim.id))
  })

  test('a release says that the lease was held until then, also while its attempt arrives again', async () => {
    const store = world.open({ throughProxies: [0, 1, 2, 3, 4] })
    const claim = claimOf(LOCK)
    expect(await attempt(store, claim)).toBe('granted')
    await soon(async () => expect(new Set(await holders(world, LOCK))).toEqual(new Set([claim.id])))
    for (const { faults } of world.proxies) faults.requestMs = 100
    const again = attempt(store, claim)
    // The nodes are asked, and have not heard it.
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(await store.withdraw(claim)).toBe('released')
    expect(await again).toBe('withdrawn')
    await soon(async () =>
      expect(await holders(world, LOCK)).toEqual(world.servers.map(() => undefined)),
    )
  })
})

describe('over three nodes', () => {
  beforeEach(async () => {
    world = await startWorld(3)
  })
  afterEach(() => world.end())

  test('a vote that comes late is withdrawn', async () => {
    const store = world.open({ nodeTimeoutMs: 1500 })
    world.servers[1]!.pause()
    world.servers[2]!.pause()
    const claim = claimOf(LOCK)
    await expect(attempt(store, claim)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(await holderAt(world, 0, LOCK)).toBeUndefined()
    world.servers[1]!.resume()
    world.servers[2]!.resume()
    await soon(async () =>
      expect(await holders(world, LOCK)).toEqual([undefined, undefined, undefined]),
    )
    expect(await attempt(store, claim)).toBe('granted')
  })

  test('an attempt waits while late votes of the one before are retracted', async () => {
    const store = world.open({ throughProxies: [1, 2], nodeTimeoutMs: 1500 })
    expect(await attempt(store, claimOf('warm'))).toBe('granted')
    world.servers[1]!.pause()
    world.servers[2]!.pause()
    const claim = claimOf(LOCK)
    await expect(attempt(store, claim)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    const late = world.proxies.slice(1)
    const before = late.map(({ packets }) => packets)
    for (const { faults } of late) faults.requestMs = 300
    world.servers[1]!.resume()
    world.servers[2]!.resume()
    // The votes have come, and what takes them back has left.
    await soon(async () => {
      for (const [index, { packets }] of late.entries())
        expect(packets).toBeGreaterThan(before[index]!)
    })
    for (const { faults } of late) faults.requestMs = 0
    expect(await attempt(store, claim)).toBe('granted')
  })

  test('a lease of which nothing is left is not returned, and its votes go back', async () => {
    const store = world.open({ throughProxies: [0, 1], nodeTimeoutMs: 5000 })
    const warm = claimOf('warm')
    expect(await attempt(store, warm)).toBe('granted')
    await store.withdraw(warm)
    for (const proxy of world.proxies.slice(0, 2)) proxy.faults.replyMs = 400
    const claim = claimOf(LOCK, { ttlMs: 300 })
    await expect(attempt(store, claim)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    // With a TTL that outlives the way there it works, and what was on the way is taken off.
    const longer = claimOf(LOCK, { ttlMs: 60_000 })
    await soon(async () => {
      const result = await store.attempt(longer, { enqueue: false, tokens: 1 })
      expect(result.outcome).toBe('granted')
      const { remainingMs } = result as { remainingMs: number }
      expect(remainingMs).toBeLessThanOrEqual(60_000 - 395)
    })
  })

  test('a renewal of which nothing is left is unknown, and blames no node', async () => {
    const store = world.open({ throughProxies: [0, 1, 2], nodeTimeoutMs: 5000 })
    expect(await attempt(store, claimOf('warm'))).toBe('granted')
    const claim = claimOf(LOCK)
    expect(await attempt(store, claim)).toBe('granted')
    for (const proxy of world.proxies) proxy.faults.replyMs = 200
    expect(await store.renew([{ ...claim, ttlMs: 150 }])).toMatchObject([
      {
        outcome: 'unknown',
        cause: { message: expect.stringMatching(/majority renewed.*nothing was left/) },
      },
    ])
  })

  test('the end of a lease does not move when it is asked for again more quickly, but by a renewal', async () => {
    const store = world.open({ throughProxies: [0, 1, 2] })
    const remainingMs = async (): Promise<number> => {
      const result = await store.attempt(claim, { enqueue: false, tokens: 1 })
      if (result.outcome !== 'granted') throw new Error(`It was ${result.outcome}.`)
      return result.remainingMs
    }
    expect(await attempt(store, claimOf('warm'))).toBe('granted')
    const claim = claimOf(LOCK, { ttlMs: 60_000 })
    // The nodes grant it later than the store must assume.
    for (const proxy of world.proxies) proxy.faults.requestMs = 200
    const firstMs = await remainingMs()
    for (const proxy of world.proxies) proxy.faults.requestMs = 0
    // Several times, since votes of the first time may still be on their way.
    for (let times = 0; times < 5; times += 1)
      expect(await remainingMs()).toBeLessThanOrEqual(firstMs)
    expect(await store.renew([{ ...claim, ttlMs: 120_000 }])).toEqual([{ outcome: 'renewed' }])
    await soon(async () => expect(await remainingMs()).toBeGreaterThan(60_000))
  })

  test('votes that end in a moment make no lease', async () => {
    // The clocks may differ by a hundredth of the TTL, a minute here, which is more than the votes
    // still last. Both are long, so that no vote ends before the store has asked for it.
    const claim = claimOf(LOCK, { ttlMs: 6_000_000 })
    for (const index of [0, 1, 2]) {
      expect(await attempt(world.node(index), { ...claim, ttlMs: 50_000 })).toBe('granted')
    }
    await expect(attempt(world.open(), claim)).rejects.toThrow('nothing was left of its TTL')
  })

  test('an attempt that arrives together with its withdrawal leaves no vote', async () => {
    const store = world.open({ nodeTimeoutMs: 1500 })
    for (const server of world.servers) server.pause()
    const claim = claimOf(LOCK)
    const attempted = attempt(store, claim)
    expect(await store.withdraw(claim)).toBe('absent')
    expect(await attempted).toBe('withdrawn')
    for (const server of world.servers) server.resume()
    await soon(async () => expect(await attempt(store, claim)).toBe('withdrawn'))
    expect(await holders(world, LOCK)).toEqual([undefined, undefined, undefined])
  })

  test('a release that reaches no majority is unknown, and released when it does', async () => {
    let isLost = true
    // Lost by the client, not by a short time limit: the first answers can take long beside load.
    const store = world.openPassing((node, args, send) => {
      if (isLost && node > 0 && verbsOf(args).includes('w'))
        return Promise.reject(new Error('no way'))
      return send()
    })
    const claim = claimOf(LOCK)
    expect(await attempt(store, claim)).toBe('granted')
    await soon(async () => expect(new Set(await holders(world, LOCK))).toEqual(new Set([claim.id])))
    await expect(store.withdraw(claim)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      lock: LOCK,
    })
    expect(await holders(world, LOCK)).toEqual([undefined, claim.id, claim.id])
    isLost = false
    await soon(async () => expect(await store.withdraw(claim)).toBe('released'))
    await soon(async () =>
      expect(await holders(world, LOCK)).toEqual([undefined, undefined, undefined]),
    )
  })

  test('a vote that is still to be withdrawn renews no lease', async () => {
    let refusing = true
    let refused = 0
    const store = world.openThrough(2, async (send, args) => {
      // Withdrawals find no way there, and what attempts are answered finds none back.
      if (refusing && verbsOf(args).includes('w')) {
        refused += 1
        throw new Error('no way')
      }
      const reply = await send()
      if (refusing && verbsOf(args).includes('a')) throw new Error('no way')
      return reply
    })
    const others = [claimOf(LOCK), claimOf(LOCK)]
    for (const [index, other] of others.entries())
      expect(await attempt(world.node(index), other)).toBe('granted')
    const claim = claimOf(LOCK)
    expect(await attempt(store, claim)).toBe('busy')
    await soon(async () => expect(refused).toBeGreaterThan(0))
    for (const [index, other] of others.entries()) await world.node(index).withdraw(other)
    expect(await attempt(store, claim)).toBe('granted')
    expect(await holders(world, LOCK)).toEqual([claim.id, claim.id, claim.id])
    await world.servers[1]!.kill()
    // The last one still has the vote of the first attempt, but soon it will not: one of three is
    // no majority.
    expect(await store.renew([claim])).toMatchObject([{ outcome: 'unknown' }])
    refusing = false
    await soon(async () => expect(await holderAt(world, 2, LOCK)).toBeUndefined())
  })

  test('a vote whose retraction is in doubt renews no lease', async () => {
    let lose: ((error: Error) => void) | undefined
    let arrive: (() => Promise<unknown>) | undefined
    const store = world.openThrough(2, (send, args) => {
      if (!verbsOf(args).includes('t')) return send()
      arrive = send
      return new Promise((_, reject) => (lose = reject))
    })
    const others = [claimOf(LOCK), claimOf(LOCK)]
    for (const [index, other] of others.entries()) {
      expect(await attempt(world.node(index), other)).toBe('granted')
    }
    const claim = claimOf(LOCK)
    const attempted = attempt(store, claim)
    await soon(async () => expect(lose).toBeDefined())
    for (const [index, other] of others.entries()) await world.node(index).withdraw(other)
    // It was refused before the vote came, or tries on.
    await attempted
    expect(await attempt(store, claim)).toBe('granted')
    lose?.(new Error('no way'))
    await world.servers[1]!.kill()
    expect(await store.renew([claim])).toMatchObject([{ outcome: 'unknown' }])
    await arrive?.()
    expect(await holderAt(world, 2, LOCK)).toBeUndefined()
    expect(await store.renew([claim])).toMatchObject([{ outcome: 'unknown' }])
  })

  test('an attempt that is withdrawn while its votes are taken back asks for none again', async () => {
    let goOn: (() => void) | undefined
    const store = world.openThrough(
      2,
      async (send, args) => {
        if (verbsOf(args).includes('t')) await new Promise<void>((resolve) => (goOn = resolve))
        return send()
      },
      { nodeTimeoutMs: 10_000 },
    )
    const others = [claimOf(LOCK), claimOf(LOCK)]
    for (const [index, other] of others.entries()) {
      expect(await attempt(world.node(index), other)).toBe('granted')
    }
    // Those that refuse answer last, so that there is a vote to take back.
    for (const server of world.servers.slice(0, 2)) server.pause()
    const claim = claimOf(LOCK)
    const attempted = attempt(store, claim)
    await soon(async () => expect(await holderAt(world, 2, LOCK)).toBe(claim.id))
    for (const server of world.servers.slice(0, 2)) server.resume()
    await soon(async () => expect(goOn).toBeDefined())
    expect(await store.withdraw(claim)).toBe('absent')
    // The nodes remember only the last of many withdrawals.
    for (const [index, other] of others.entries()) {
      await world.node(index).withdraw(other)
      for (let times = 0; times < 300; times += 1) await world.node(index).withdraw(claimOf(LOCK))
    }
    goOn?.()
    expect(await attempted).toBe('withdrawn')
    // Arrives after all that was sent before it.
    expect(await store.inspect([LOCK])).toEqual([])
    expect(await holders(world, LOCK)).toEqual([undefined, undefined, undefined])
  })

  test('a lease that is found to have ended leaves no vote behind', async () => {
    const store = world.open()
    const claim = claimOf(LOCK)
    expect(await attempt(store, claim)).toBe('granted')
    await soon(async () =>
      expect(await holders(world, LOCK)).toEqual([claim.id, claim.id, claim.id]),
    )
    // As after its TTL. The last node has forgotten all about it.
    for (const index of [0, 1]) expect(await world.node(index).withdraw(claim)).toBe('released')
    await world.servers[2]!.command('FLUSHALL')
    // The caller then makes another claim, and withdraws nothing.
    expect(await attempt(store, claim)).toBe('withdrawn')
    await soon(async () =>
      expect(await holders(world, LOCK)).toEqual([undefined, undefined, undefined]),
    )
    expect(await attempt(store, claimOf(LOCK))).toBe('granted')
  })

  test('a wrong password at all nodes rejects with STORE_AUTH', async () => {
    for (const server of world.servers)
      await server.command('CONFIG', 'SET', 'requirepass', 'open sesame')
    await expect(attempt(world.open(), claimOf(LOCK))).rejects.toMatchObject({ code: 'STORE_AUTH' })
  })

  test('semaphores are refused', async () => {
    const claim = claimOf(LOCK, { kind: 'semaphore', capacity: 2, weight: 1 })
    await expect(attempt(world.open(), claim)).rejects.toBeInstanceOf(UnsupportedLockError)
  })

  test('options that make no sense are refused', () => {
    // Of the shape of a client; nothing is sent to it.
    const client = {
      isReady: false,
      sendCommand: () => undefined,
      on: () => undefined,
      off: () => undefined,
    }
    refused({ clients: [client, client] })
    refused({ clients: [client, client, client] })
    refused({ clients: client })
    refused({ clients: [client, {}, {}] })
    const lazy = { lazyConnect: true }
    const sentinels = [{ host: '127.0.0.1', port: 1 }]
    for (const other of [
      new Redis({ sentinels, name: 'locks', ...lazy }),
      new Cluster(sentinels, lazy),
      createSentinel({ name: 'locks', sentinelRootNodes: sentinels }),
      createCluster({ rootNodes: [{ url: 'redis://127.0.0.1:1' }] }),
    ]) {
      refused({ clients: [client, { ...client }, other] })
    }
    for (const nodeTimeoutMs of [0, -1, NaN, Infinity, '5']) {
      refused({ clients: [{ ...client }, { ...client }, { ...client }], nodeTimeoutMs })
    }
  })
})

function refused(options: object): void {
  expect(() => redlockStore(options as never)).toThrow(
    expect.objectContaining({ code: 'LOCK_USAGE' }),
  )
}
