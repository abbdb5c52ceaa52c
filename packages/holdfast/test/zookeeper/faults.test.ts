/** Servers that stall, die or are cut off from each other. */
import { describe, expect, test } from 'vitest'
import { onLockEvent } from 'holdfast'
import type { Claim, Store } from 'holdfast/store'
import { TICK_MS } from '@holdfast/servers/zookeeper'
import { systemClock, type Clock } from '../../dist/clock/clock.js'
import { ANSWER_LIMIT_MS } from '../../dist/stores/coordination/verbs/claim-withdrawer.js'
import { newEntryData } from '../../dist/stores/coordination/wire.js'
import { CoordinationStore } from '../../dist/stores/coordination/store.js'
import { parentOf } from '../../dist/stores/zookeeper/keys.js'
import { ZooKeeperService } from '../../dist/stores/zookeeper/service.js'
import type { ZooKeeperSession } from '../../dist/stores/zookeeper/session/session.js'
import { childrenOf, readNode, removeNode } from '../../dist/stores/zookeeper/queue/tree.js'
import { collectGarbage } from '../support/garbage.js'
import {
  after,
  fallSilent,
  leaveMinority,
  leavesNothing,
  longClaim,
  makeClaim,
  nodeOf,
  nodesOf,
  openLocks,
  openRaw,
  openProxy,
  openStore,
  QUEUE,
  renewed,
  isQuiet,
  start,
  waitsOnLonger,
} from './support/world.js'

const TIMEOUT = { timeout: 120_000 }

describe('a holder', () => {
  test('learns of the loss by its deadline when ZooKeeper falls silent', TIMEOUT, async () => {
    const { connect, members } = await start()
    await fallSilent(members[0], (settings) => openLocks({ connect }, settings))
  })

  test('whose session ended elsewhere learns of it by the next renewal', TIMEOUT, async () => {
    const { connect } = await start()
    const raw = await openRaw(connect)
    const store = openStore({ connect })
    const claim = makeClaim('ended')
    await store.attempt(claim, QUEUE)
    await removeNode(raw, await nodeOf(raw, claim))
    expect(await store.renew([claim])).toEqual([{ outcome: 'lost', reason: 'expired' }])
    expect(await store.withdraw(claim)).toBe('absent')
    await raw.end()
  })
})

test(
  'a waiter whose entry is gone does not hold when the claims before it leave',
  TIMEOUT,
  async () => {
    const { connect } = await start()
    const raw = await openRaw(connect)
    const [one, two] = [openStore({ connect }), openStore({ connect })]
    const [holder, waiter] = [makeClaim('expired'), makeClaim('expired')]
    await one.attempt(holder, QUEUE)
    expect(await two.attempt(waiter, QUEUE)).toMatchObject({ outcome: 'waiting' })
    const woken: unknown[] = []
    two.watch(waiter, (grant) => woken.push(grant))
    await removeNode(raw, await nodeOf(raw, waiter))
    await one.withdraw(holder)
    await expect.poll(() => woken).toEqual([undefined])
    expect(await two.attempt(waiter, QUEUE)).toEqual({ outcome: 'withdrawn' })
    await raw.end()
  },
)

describe('three servers', () => {
  test(
    'of which a minority is left grant nothing, and a holder there learns of the loss in time',
    TIMEOUT,
    async () => {
      const { ports, connect, members } = await start({ servers: 3 })
      const alone = { connect: `127.0.0.1:${ports[0]}`, connectTimeoutMs: 2000 }
      await leaveMinority({
        others: members.slice(1),
        openAlone: (settings) => openLocks(alone, settings),
        openAll: () => openLocks({ connect }),
      })
    },
  )

  test(
    'still serve when the one in use is killed, and waiters keep their places',
    TIMEOUT,
    async () => {
      const ensemble = await start({ servers: 3 })
      const { proxy, connect } = await openProxy(ensemble.ports[0])
      // A client that began at the first server, behind the proxy, finds the others.
      const others = ensemble.ports.slice(1).map((port) => `127.0.0.1:${port}`)
      const servers = { connect: [connect, ...others].join() }
      const [one, two, three] = [openLocks(servers), openLocks(servers), openLocks(servers)]
      const lease = await one.mutex('failover').acquire()
      const raw = await openRaw(ensemble.connect)
      const second = two.mutex('failover').acquire({ waitMs: 20_000 })
      await expect.poll(() => nodesOf(raw, 'failover')).toHaveLength(2)
      const third = three.mutex('failover').acquire({ waitMs: 20_000 })
      await expect.poll(() => nodesOf(raw, 'failover')).toHaveLength(3)
      proxy.faults.refuse = true
      proxy.reset()
      await ensemble.members[0]?.crash()
      await renewed(lease)
      expect(await lease.release()).toBe('released')
      expect(await (await second).release()).toBe('released')
      expect((await third).token).toBeGreaterThan((await second).token)
      await raw.end()
    },
  )

  test('show what one of them acknowledged, also where another lags behind', TIMEOUT, async () => {
    const ensemble = await start({ servers: 3 })
    const leader = await ensemble.leader()
    const behind = (leader + 1) % 3
    const at = (index: number): Store =>
      openStore({ connect: `127.0.0.1:${ensemble.ports[index]}` })
    const [ahead, late] = [at(leader), at(behind)]
    // Both have their sessions: only the reading itself is late.
    await ahead.inspect(['warm'])
    await late.inspect(['warm'])
    for (let round = 0; round < 20; round += 1) {
      const claim = makeClaim(`behind-${round}`)
      await ensemble.members[behind]?.pause()
      expect(await ahead.attempt(claim, QUEUE)).toMatchObject({ outcome: 'granted' })
      const inspecting = late.inspect([claim.lock])
      ensemble.members[behind]?.resume()
      const [info] = await inspecting
      expect(info?.holders.map(({ claimId }) => claimId)).toEqual([claim.id])
    }
  })
})

test(
  'an attempt whose connection breaks is made again, and finds what the first one made',
  TIMEOUT,
  async () => {
    const { ports, connect: direct } = await start()
    const { proxy, connect } = await openProxy(ports[0])
    const raw = await openRaw(direct)
    const store = openStore({ connect })
    // The session and the node of the lock are there, so that the lost answer is that of the entry.
    const warm = makeClaim('broken')
    await store.attempt(warm, QUEUE)
    await store.withdraw(warm)
    const claim = makeClaim('broken')
    proxy.faults.dropReplies = true
    const attempt = Promise.resolve(store.attempt(claim, QUEUE)).catch((error: unknown) => error)
    await expect.poll(() => nodesOf(raw, 'broken')).toHaveLength(1)
    proxy.heal()
    proxy.reset()
    expect(await attempt).toMatchObject({ outcome: 'granted' })
    expect(await nodesOf(raw, 'broken')).toHaveLength(1)
    expect(await store.withdraw(claim)).toBe('released')
    expect(await nodesOf(raw, 'broken')).toEqual([])
    await raw.end()
  },
)

test(
  'an attempt is looked for by the next one also when the session of its lease has ended',
  TIMEOUT,
  async () => {
    const { ports, connect: direct } = await start()
    const { proxy, connect } = await openProxy(ports[0])
    const raw = await openRaw(direct)
    const port = new ZooKeeperService({ connect, tickMs: TICK_MS })
    after(() => port.close(0))
    const open = () => port.openSession(10_000, 'exact')
    const [one, two, waiter] = [await open(), await open(), await open()]
    const enter = (claim: Claim, holder: ZooKeeperSession, inDoubt = false) => {
      const sessions = { holder, waiter, openWaiter: async () => waiter }
      return port.enter(claim, newEntryData(claim, Date.now()), sessions, inDoubt)
    }
    // The third claim expects to wait, and enters on the session for waiters.
    for (let place = 0; place < 2; place += 1) await enter(makeClaim('sought'), one)
    await one.end()
    const claim = makeClaim('sought')
    proxy.faults.dropReplies = true
    const entering = enter(claim, one)
    await expect.poll(() => nodesOf(raw, 'sought')).toHaveLength(2)
    proxy.heal()
    proxy.reset()
    expect(await entering).toEqual({ outcome: 'no-session' })
    expect(await enter(claim, two, true)).toMatchObject({
      outcome: 'entered',
      entry: { id: claim.id },
    })
    expect(await nodesOf(raw, 'sought')).toHaveLength(2)
    await raw.end()
  },
)

test(
  'an attempt whose move to the session for waiters gets no answer keeps its place',
  TIMEOUT,
  async () => {
    const { ports, connect: direct } = await start()
    const { proxy, connect } = await openProxy(ports[0])
    const raw = await openRaw(direct)
    const [behind, straight] = [connect, direct].map(
      (where) => new ZooKeeperService({ connect: where, tickMs: TICK_MS }),
    ) as [ZooKeeperService, ZooKeeperService]
    after(() => Promise.all([behind.close(0), straight.close(0)]))
    const holder = await straight.openSession(10_000, 'exact')
    const [lease, waiter] = [
      await behind.openSession(10_000, 'exact'),
      await behind.openSession(10_000, 'exact'),
    ]
    const [first, claim] = [makeClaim('moved'), makeClaim('moved')]
    const onHolder = { holder, waiter: undefined, openWaiter: undefined }
    await straight.enter(first, newEntryData(first, Date.now()), onHolder, false)
    let opened = 0
    const openWaiter = (): Promise<ZooKeeperSession> => {
      // The entry is made; the answer to its move is lost.
      if (opened === 0) proxy.faults.dropReplies = true
      opened += 1
      return Promise.resolve(waiter)
    }
    const sessions = { holder: lease, waiter: undefined, openWaiter }
    const entering = behind.enter(claim, newEntryData(claim, Date.now()), sessions, false)
    const ownerOf = async (): Promise<bigint | undefined> =>
      (await readNode(raw, await nodeOf(raw, claim)))?.stat.ephemeralOwner
    await expect.poll(ownerOf).toBe(waiter.id)
    const made = await nodeOf(raw, claim)
    proxy.heal()
    proxy.reset()
    expect(await entering).toMatchObject({ outcome: 'entered', onWaiterSession: true })
    expect(await nodeOf(raw, claim)).toBe(made)
    await raw.end()
  },
)

test(
  'a waiter that comes back after its session has ended waits again, and is granted',
  TIMEOUT,
  async () => {
    const { ports, connect: direct } = await start()
    const { proxy, connect } = await openProxy(ports[0])
    const raw = await openRaw(direct)
    const lease = await openLocks({ connect: direct }).mutex('back').acquire()
    const queued = queuedOnce('back')
    // The raw session sees the entry long before the client moves it.
    proxy.faults.replyMs = 100
    const waiting = openLocks({ connect }).mutex('back').acquire({ waitMs: 50_000 })
    // It would be an unhandled rejection while the test looks elsewhere.
    waiting.catch(() => undefined)
    // Until the move, the entry stands on the session for leases, which lives for half a minute.
    await Promise.race([queued, waiting])
    expect(await nodesOf(raw, 'back')).toHaveLength(2)
    proxy.faults.refuse = true
    proxy.reset()
    await expect.poll(() => nodesOf(raw, 'back'), { timeout: 20_000 }).toHaveLength(1)
    proxy.heal()
    // Far sooner than its TTL of half a minute, after which it would give up.
    await expect.poll(() => nodesOf(raw, 'back'), { timeout: 20_000 }).toHaveLength(2)
    expect(await lease.release()).toBe('released')
    expect((await waiting).held).toBe(true)
    await raw.end()
  },
)

test(
  'an entry that moved without an answer is taken out, also when the session that it came from has ended',
  TIMEOUT,
  async () => {
    const { ports, connect: direct } = await start()
    const { proxy, connect } = await openProxy(ports[0])
    const raw = await openRaw(direct)
    const port = new ZooKeeperService({ connect, tickMs: TICK_MS })
    after(() => port.close(0))
    const [from, to] = [
      await port.openSession(20_000, 'exact'),
      await port.openSession(20_000, 'exact'),
    ]
    const claim = makeClaim('moved')
    const data = newEntryData(claim, Date.now())
    const onFrom = { holder: from, waiter: undefined, openWaiter: undefined }
    const entered = await port.enter(claim, data, onFrom, false)
    if (entered.outcome !== 'entered') throw new Error(entered.outcome)
    proxy.faults.dropReplies = true
    await expect(port.amend(entered.entry, data, entered.version, to)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    })
    const ownerOf = async (): Promise<bigint | undefined> =>
      (await readNode(raw, await nodeOf(raw, claim)))?.stat.ephemeralOwner
    await expect.poll(ownerOf).toBe(to.id)
    proxy.heal()
    proxy.reset()
    await from.end()
    expect(await port.leave(entered.entry)).toBe(true)
    expect(await nodesOf(raw, 'moved')).toEqual([])
    await raw.end()
  },
)

describe('behind an entry that it may not read', () => {
  const auth = { scheme: 'digest', user: 'other', password: 'secret' } as const

  /** The node of the lock is open to all clients, and the entry of its holder is not. */
  async function hold(lock: string) {
    const { ports, connect: direct } = await start()
    const [holder, maker] = [openStore({ connect: direct, auth }), openStore({ connect: direct })]
    const first = makeClaim(lock)
    await maker.attempt(first, QUEUE)
    await maker.withdraw(first)
    const held = makeClaim(lock)
    expect(await holder.attempt(held, QUEUE)).toMatchObject({ outcome: 'granted' })
    const { proxy, connect } = await openProxy(ports[0])
    return { proxy, store: openStore({ connect }), release: () => holder.withdraw(held), direct }
  }

  test('a mutex is waited for without a flood of looks', TIMEOUT, async () => {
    const { proxy, store, release } = await hold('unreadable')
    const waiter = longClaim('unreadable')
    expect(await store.attempt(waiter, QUEUE)).toMatchObject({ outcome: 'waiting' })
    store.watch(waiter, () => undefined)
    await expect.poll(() => isQuiet(() => proxy.packets), { timeout: 10_000 }).toBe(true)
    expect(await store.attempt(waiter, QUEUE)).toMatchObject({ outcome: 'waiting' })
    expect(await release()).toBe('released')
    expect(await store.attempt(waiter, QUEUE)).toMatchObject({ outcome: 'granted' })
  })

  test(
    'who would have to read it is refused, and leaves neither an entry nor a word behind',
    TIMEOUT,
    async () => {
      const { store, direct } = await hold('unreadable')
      const raw = await openRaw(direct)
      const refused: WeakRef<Claim>[] = []
      for (let times = 0; times < 5; times += 1) {
        const reader = makeClaim('unreadable', { kind: 'readWriteLock', weight: 1 })
        await expect(store.attempt(reader, QUEUE)).rejects.toMatchObject({ code: 'STORE_AUTH' })
        expect(await nodesOf(raw, 'unreadable')).toHaveLength(1)
        expect(await store.withdraw(reader)).toBe('absent')
        refused.push(new WeakRef(reader))
      }
      expect(await childrenOf(raw, parentOf('unreadable'))).toHaveLength(1)
      // The last one may still stand in a register.
      await expect.poll(() => left(refused)).toBeLessThanOrEqual(1)
      await raw.end()
    },
  )
})

test('a killed waiter is passed over after a few heartbeats', TIMEOUT, async () => {
  const { ports, connect: direct } = await start()
  const { proxy, connect } = await openProxy(ports[0])
  const [one, three] = [openStore({ connect: direct }), openStore({ connect: direct })]
  const [holder, dead, waiter] = [makeClaim('dead'), makeClaim('dead'), makeClaim('dead')].map(
    (claim) => ({
      ...claim,
      ttlMs: 60_000 - 2000,
    }),
  ) as [Claim, Claim, Claim]
  await one.attempt(holder, QUEUE)
  expect(await openStore({ connect }).attempt(dead, QUEUE)).toMatchObject({ outcome: 'waiting' })
  expect(await three.attempt(waiter, QUEUE)).toMatchObject({ outcome: 'waiting' })
  const granted: unknown[] = []
  three.watch(waiter, (grant) => granted.push(grant))
  proxy.faults.refuse = true
  proxy.reset()
  await one.withdraw(holder)
  // Three heartbeats, a tick, and what is rounded up: not its TTL of nearly a minute.
  await expect.poll(() => granted, { timeout: 10_000 }).toHaveLength(1)
})

test(
  'an attempt that gets through after its claim was given up leaves nothing behind',
  TIMEOUT,
  async () => {
    const ensemble = await start()
    const { proxy, connect } = await openProxy(ensemble.ports[0])
    // A withdrawal waits for the answer to the attempt, but here only for a moment.
    const clock: Clock = {
      ...systemClock,
      timer: (delayMs, ...rest) =>
        systemClock.timer(delayMs === ANSWER_LIMIT_MS ? 100 : delayMs, ...rest),
    }
    const one = new CoordinationStore(new ZooKeeperService({ connect, tickMs: TICK_MS }), {
      name: 'zookeeper',
      ttlRangeMs: [2 * TICK_MS, 600_000],
      clock,
    })
    after(() => one.close())
    const two = openStore({ connect: ensemble.connect })
    // It has its session, which outlives what follows.
    const first = longClaim('warm')
    await one.attempt(first, QUEUE)
    await one.withdraw(first)
    const given = longClaim('given-up')
    // The withdrawal is lost like the attempt, and is not made again; the attempt still is.
    proxy.faults.dropRequests = true
    const { packets } = proxy
    const attempt = one.attempt(given, QUEUE)
    await expect.poll(() => proxy.packets).toBeGreaterThan(packets)
    const attempted = proxy.packets
    const withdrawal = one.withdraw(given)
    withdrawal.catch(() => undefined)
    await expect.poll(() => proxy.packets, { timeout: 10_000 }).toBeGreaterThan(attempted)
    proxy.faults.refuse = true
    proxy.reset()
    await expect(withdrawal).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    proxy.heal()
    expect(await attempt).toEqual({ outcome: 'withdrawn' })
    const next = longClaim('given-up')
    const granted = async (): Promise<string> => (await two.attempt(next, QUEUE)).outcome
    await expect.poll(granted, { timeout: 10_000 }).toBe('granted')
    await two.withdraw(next)
  },
)

test(
  'an attempt without an answer, given up without an answer, leaves nothing behind',
  TIMEOUT,
  async () => {
    const ensemble = await start()
    const { proxy, connect } = await openProxy(ensemble.ports[0])
    const [one, two] = [openStore({ connect }), openStore({ connect: ensemble.connect })]
    await leavesNothing(proxy, one, two)
  },
)

test(
  'who has to wait does so on a longer session where ZooKeeper grants no shorter one',
  TIMEOUT,
  async () => {
    const { connect } = await start({ config: { minSessionTimeout: 10_000 } })
    await waitsOnLonger(openStore({ connect }), openStore({ connect }))
  },
)

test.each([{ maxSessionTimeout: 8000 }, { minSessionTimeout: 12_000 }])(
  'a client that only inspects or steals takes any session that ZooKeeper grants: %j',
  TIMEOUT,
  async (config) => {
    const { connect } = await start({ config })
    const ttlMs = 'maxSessionTimeout' in config ? 5000 : 20_000
    const claim = makeClaim('seen', { ttlMs })
    expect(await openStore({ connect }).attempt(claim, QUEUE)).toMatchObject({ outcome: 'granted' })
    const onlooker = openStore({ connect })
    const [info] = await onlooker.inspect(['seen'])
    expect(info?.holders.map(({ claimId }) => claimId)).toEqual([claim.id])
    expect(await onlooker.steal('seen', { now: true })).toMatchObject({ holders: 1 })
  },
)

/** Resolves when a claim waits for the lock: its entry stands on the session for waiters. */
function queuedOnce(lock: string): Promise<void> {
  return new Promise((resolve) => {
    after(onLockEvent('queued', (event) => event.lock === lock && resolve()))
  })
}

function left(claims: readonly WeakRef<Claim>[]): number {
  collectGarbage()
  return claims.filter((claim) => claim.deref()).length
}
