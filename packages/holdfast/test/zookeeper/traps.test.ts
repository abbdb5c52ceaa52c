/** What went wrong in other locks over ZooKeeper. */
import { inspectPage } from 'holdfast/internal'
import type { Locks, LocksOptions } from 'holdfast'
import type { Claim, Store } from 'holdfast/store'
import type { ZooKeeperOptions } from 'holdfast/zookeeper'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import { ask, startZooKeeper, TICK_MS, type ZooKeeperEnsemble } from '@holdfast/servers/zookeeper'
import type { ServiceWatch } from '../../dist/stores/coordination/connection/service.js'
import { bySequence, parentOf, queueOf } from '../../dist/stores/zookeeper/keys.js'
import { ZooKeeperService } from '../../dist/stores/zookeeper/service.js'
import { newEntryData } from '../../dist/stores/coordination/wire.js'
import { enter } from '../../dist/stores/zookeeper/queue/enter-queue.js'
import { OwnTurns } from '../../dist/stores/zookeeper/queue/own-turns.js'
import { ZooKeeperSession } from '../../dist/stores/zookeeper/session/session.js'
import { childrenOf, readNode, removeNode } from '../../dist/stores/zookeeper/queue/tree.js'
import { create, FLAGS } from '../../dist/stores/zookeeper/wire/messages.js'
import { collectGarbage } from '../support/garbage.js'
import * as world from './support/world.js'
import { after, leavesNoWord, makeClaim, openRaw, QUEUE } from './support/world.js'

let ensemble: ZooKeeperEnsemble
let raw: ZooKeeperSession

beforeAll(async () => {
  ensemble = await startZooKeeper()
  raw = await openRaw(ensemble.connect)
})
afterAll(async () => {
  await raw.end()
  await ensemble.stop()
})

const openStore = (options: Partial<ZooKeeperOptions> = {}): Store =>
  world.openStore({ connect: ensemble.connect, ...options })
const openLocks = (options: Partial<ZooKeeperOptions> = {}, settings: LocksOptions = {}): Locks =>
  world.openLocks({ connect: ensemble.connect, ...options }, settings)
const openProxy = () => world.openProxy(ensemble.ports[0])
/** How many sessions the server has. */
const sessions = async (): Promise<number> => {
  const text = await ask(ensemble.ports[0] ?? 0, 'dump')
  return text.split('ephemeral')[0]?.match(/^\t0x/gm)?.length ?? 0
}
const nodes = (lock: string): Promise<string[]> => world.nodesOf(raw, lock)
const nodeOf = (claim: Claim): Promise<string> => world.nodeOf(raw, claim)

test('the order of a queue survives the overflow of the sequence', () => {
  const names = [-2147483648, 2147483647, -2147483647, 2147483646].map(
    (sequence, index) =>
      `w+1+claim-${index}+${sequence < 0 ? sequence : String(sequence).padStart(10, '0')}`,
  )
  expect(queueOf(names).map(({ sequence }) => sequence)).toEqual([
    2147483646, 2147483647, -2147483648, -2147483647,
  ])
  expect(bySequence({ sequence: 1 }, { sequence: 2 })).toBeLessThan(0)
})

test('a node of a lock that was reaped is made again', async () => {
  const store = openStore()
  for (let round = 0; round < 3; round += 1) {
    const claim = makeClaim('reaped')
    expect(await store.attempt(claim, QUEUE)).toMatchObject({ outcome: 'granted' })
    expect(await store.withdraw(claim)).toBe('released')
    expect(await removeNode(raw, parentOf('reaped'))).toBe(true)
  }
})

test('reaping that races live traffic costs no holder the lock', async () => {
  const locks = openLocks()
  let reaped = 0
  for (let round = 0; round < 200; round += 1) {
    const acquiring = locks.mutex('raced').acquire({ waitMs: 5000 })
    // Refused while there is an entry in it.
    const reaping = removeNode(raw, parentOf('raced')).catch(() => false)
    const lease = await acquiring
    if (await reaping) reaped += 1
    expect(await lease.release()).toBe('released')
  }
  expect(reaped).toBeGreaterThan(0)
})

test('a node of another session under the same name is no grant (CURATOR-604)', async () => {
  const store = openStore()
  const [holder, waiter] = [makeClaim('owner'), makeClaim('owner')]
  await store.attempt(holder, QUEUE)
  expect(await store.attempt(waiter, QUEUE)).toMatchObject({ outcome: 'waiting' })
  const path = await nodeOf(waiter)
  const node = await readNode(raw, path)
  await removeNode(raw, path)
  await raw.ask(create(path, node?.text ?? '', FLAGS.ephemeral, false))
  await store.withdraw(holder)
  expect(await store.attempt(waiter, QUEUE)).toEqual({ outcome: 'withdrawn' })
})

test('a store that is closed while it connects leaves neither an entry nor a session behind', async () => {
  const { proxy, connect } = await openProxy()
  const before = await sessions()
  proxy.faults.replyMs = 300
  const store = openStore({ connect })
  const attempt = Promise.resolve(store.attempt(makeClaim('early'), QUEUE)).catch(
    (error: unknown) => error,
  )
  await expect.poll(sessions).toBe(before + 1)
  await store.close()
  expect(await attempt).toMatchObject({ code: 'LOCKS_CLOSED' })
  await expect.poll(sessions).toBe(before)
  expect(await nodes('early')).toEqual([])
})

test.each([true, false])('a steal whose answer was lost rejects, with now: %s', async (now) => {
  const { proxy, connect } = await openProxy()
  const thief = openStore({ connect })
  const [holder, claim] = [openStore(), makeClaim('stolen-unheard')]
  await holder.attempt(claim, QUEUE)
  let steals = 0
  proxy.onRequest = (bytes) => {
    // The removal of the entry or the change of its data, by the code of the request.
    if (bytes.length < 12 || bytes.readInt32BE(8) !== (now ? 2 : 5)) return
    steals += 1
    proxy.faults.dropReplies = true
  }
  const stealing = Promise.resolve(thief.steal(claim.lock, { now })).catch(
    (error: unknown) => error,
  )
  await eventually('it is stolen', async () => {
    const [info] = await holder.inspect([claim.lock])
    return info?.holders.every(({ stolen }) => stolen) ?? true
  })
  proxy.heal()
  proxy.reset()
  expect(await stealing).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(steals).toBe(1)
})

describe('an attempt in doubt', () => {
  test('whose answer was lost leaves no ghost', async () => {
    const { proxy, connect } = await openProxy()
    const locks = openLocks({ connect }, { ttlMs: 20_000 })
    await (await locks.mutex('ghost').acquire()).release()
    proxy.faults.dropReplies = true
    await expect(locks.mutex('ghost').acquire({ waitMs: 1500 })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    })
    await expect.poll(() => nodes('ghost')).toHaveLength(1)
    proxy.heal()
    proxy.reset()
    const lease = await openLocks().mutex('ghost').acquire({ waitMs: 15_000 })
    expect(lease.held).toBe(true)
  })

  test('that arrives after it was given up is refused', async () => {
    const [one, two] = [openStore(), openStore()]
    const claim = makeClaim('late')
    expect(await two.withdraw(claim)).toBe('absent')
    expect(await one.attempt(claim, QUEUE)).toEqual({ outcome: 'withdrawn' })
    expect(await nodes('late')).toEqual([])
  })

  // Others take the first token for the lease's where an entry shows one token.
  test('that is repeated for more tokens gets as many as its entry shows', async () => {
    const { proxy, connect } = await openProxy()
    const store = openStore({ connect })
    const long = { ttlMs: 20_000 }
    const [before, claim] = [makeClaim('tokens', long), makeClaim('tokens', long)]
    // The node of the lock is there, so that the next request makes the entry.
    await store.attempt(before, QUEUE)
    await store.withdraw(before)
    proxy.faults.dropReplies = true
    const refused = { code: 'STORE_UNAVAILABLE' }
    await expect(store.attempt(claim, QUEUE)).rejects.toMatchObject(refused)
    proxy.heal()
    proxy.reset()
    const again = await store.attempt(claim, { ...QUEUE, tokens: 5 })
    expect(again).toMatchObject({ outcome: 'granted', tokens: 1 })
  })

  test('that arrives late on one session is found before it is made on another', async () => {
    const { proxy, connect } = await openProxy()
    const claim = makeClaim('two-ways', { ttlMs: 20_000 })
    await openStore().withdraw(makeClaim('two-ways'))
    const waiter = await ZooKeeperSession.open({ connect }, 20_000, 'exact')
    after(() => waiter.end())
    const openWaiter = () => Promise.resolve(waiter)
    const sessions = { holder: raw, waiter, openWaiter }
    const terms = {
      claim,
      data: newEntryData(claim, 0),
      isBusy: true,
      restricted: false,
      turns: new OwnTurns(),
    }
    // Later than the attempt waits for another connection.
    proxy.faults.requestMs = 6000
    const { packets } = proxy
    const lost = enter({ ...terms, ...sessions, inDoubt: false }).catch((error: unknown) => error)
    await expect.poll(() => proxy.packets).toBeGreaterThan(packets)
    proxy.holdBack()
    proxy.cutClients()
    proxy.heal()
    expect(await lost).toBeInstanceOf(Error)
    const again = enter({ ...terms, ...sessions, inDoubt: true })
    await expect.poll(() => nodes('two-ways')).toHaveLength(1)
    proxy.letIn()
    expect(await again).toMatchObject({ outcome: 'entered' })
    expect(await nodes('two-ways')).toHaveLength(1)
  })

  // Without a connection the C client keeps requests, and sends them when it has one again: here
  // after a third of 22 s.
  test('that was held back without a connection and sent too late is removed', async () => {
    const { proxy, connect } = await openProxy()
    const store = openStore({ connect })
    const long = { ttlMs: 20_000 }
    await store.attempt(makeClaim('warm-2', long), QUEUE)
    const claim = makeClaim('kept-back', long)
    // The node of the lock is there, so that the kept request can make the entry.
    await openStore().withdraw(makeClaim('kept-back'))
    proxy.faults.refuse = true
    proxy.reset()
    const refused = { code: 'STORE_UNAVAILABLE' }
    await expect(store.attempt(claim, QUEUE)).rejects.toMatchObject(refused)
    proxy.heal()
    expect(await store.withdraw(claim)).toBe('absent')
    const again = () =>
      Promise.resolve(store.attempt(makeClaim('after', long), QUEUE)).catch(() => undefined)
    await expect.poll(again, { timeout: 15_000 }).toMatchObject({ outcome: 'granted' })
    await expect.poll(() => nodes('kept-back')).toEqual([])
  })
})

// Each attempt reads all children of the lock's node: a few thousand marks ended the server.
test('a claim that is given up leaves no word in its lock when its attempt is answered', async () => {
  const { proxy, connect } = await openProxy()
  await leavesNoWord(proxy, openStore({ connect }), openStore())
  expect(await childrenOf(raw, parentOf('no-word'))).toHaveLength(1)
})

test('a claim that could not be withdrawn does not live on with its session', async () => {
  const { proxy, connect } = await openProxy()
  const store = openStore({ connect })
  const stuck = makeClaim('stuck', { ttlMs: 3000 })
  await store.attempt(stuck, QUEUE)
  proxy.faults.dropRequests = true
  await expect(store.withdraw(stuck)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  proxy.heal()
  proxy.reset()
  await expect.poll(() => nodes('stuck'), { timeout: 10_000 }).toEqual([])
})

test('an answer that is cut in the middle of a frame ends in nothing worse than an error', async () => {
  const { proxy, connect } = await openProxy()
  const locks = openLocks({ connect }, { ttlMs: 6000 })
  await (await locks.mutex('cut').acquire()).release()
  proxy.faults.cutReplyAt = 7
  await locks
    .mutex('cut')
    .acquire()
    .then(
      (lease) => lease.release(),
      () => undefined,
    )
  const lease = await openLocks().mutex('cut').acquire({ waitMs: 15_000 })
  expect(lease.held).toBe(true)
})

test('a newcomer that has to wait keeps its place, on the session for waiters', async () => {
  const [holder, waiter] = [makeClaim('place'), makeClaim('place')]
  await openStore().attempt(holder, QUEUE)
  expect(await openStore().attempt(waiter, QUEUE)).toMatchObject({ outcome: 'waiting' })
  const path = await nodeOf(waiter)
  // ZooKeeper numbers what was ever made here: had it left and come again, others might have passed
  // it.
  expect(path).toMatch(/0{9}1$/)
  expect((await readNode(raw, path))?.stat.version).toBe(0)
})

test('a waiter watches only the one before it', async () => {
  const stores = Array.from({ length: 4 }, () => openStore())
  const claims = stores.map(() => makeClaim('herd'))
  const wakes = [0, 0, 0, 0]
  for (const [index, store] of stores.entries()) {
    const claim = claims[index] ?? makeClaim('')
    await store.attempt(claim, QUEUE)
    store.watch(claim, () => (wakes[index] = (wakes[index] ?? 0) + 1))
  }
  await stores[0]?.withdraw(claims[0] ?? makeClaim(''))
  await expect.poll(() => wakes[1]).toBe(1)
  expect(wakes).toEqual([0, 1, 0, 0])
})

test.each([
  ['before there is a session to watch with', false],
  ['with its watch set', true],
])(
  'a wait that is given up %s leaves nothing behind, however long the lock is held',
  async (_, watching) => {
    const holder = makeClaim('patient')
    const store = openStore()
    await store.attempt(holder, QUEUE)
    const key = await nodeOf(holder)
    const port = new ZooKeeperService({ connect: ensemble.connect, tickMs: TICK_MS })
    after(() => port.close(0))
    const wait = (changed: () => void): ServiceWatch =>
      port.watch(
        { predecessors: [{ key, weight: 1 }], moment: 0n, onlyGone: true, waits: false },
        changed,
      )
    let calls = 0
    const kept = watching ? wait(() => (calls += 1)) : undefined
    if (watching) await port.readQueues(['patient'])
    const gone = await giveUp(wait, 20)
    await expect.poll(() => left(gone)).toBe(0)
    await store.withdraw(holder)
    // The remaining waiter for that node is called.
    if (watching) await expect.poll(() => calls).toBe(1)
    kept?.close()
  },
)

/** Waits so often and gives up, in the next turn. Gives what was to be called. */
async function giveUp(
  wait: (changed: () => void) => ServiceWatch,
  times: number,
): Promise<WeakRef<() => void>[]> {
  const waits = Array.from({ length: times }, (_, index) => {
    const changed = (): unknown => index
    return { changed: new WeakRef<() => void>(changed), watch: wait(changed) }
  })
  await new Promise((resolve) => setImmediate(resolve))
  for (const { watch } of waits) watch.close()
  return waits.map(({ changed }) => changed)
}

function left(closures: readonly WeakRef<() => void>[]): number {
  collectGarbage()
  return closures.filter((closure) => closure.deref()).length
}

describe('settings', () => {
  test('a missing chroot is an error that says what to do', async () => {
    const store = openStore({ connect: `${ensemble.connect}/no/such` })
    await expect(store.attempt(makeClaim('x'), QUEUE)).rejects.toMatchObject({
      code: 'STORE_CONFIG',
      message: expect.stringContaining('create /no/such') as string,
    })
  })

  test('a missing chroot is an error of inspect and steal, too', async () => {
    const store = openStore({ connect: `${ensemble.connect}/no/such` })
    const noChroot = {
      code: 'STORE_CONFIG',
      message: expect.stringContaining('create /no/such') as string,
    }
    await expect(
      inspectPage(store, { prefix: '', cursor: undefined, limit: 10 }),
    ).rejects.toMatchObject(noChroot)
    await expect(store.inspect(['x'])).rejects.toMatchObject(noChroot)
    await expect(store.steal('x', { now: true })).rejects.toMatchObject(noChroot)
    // Where it is there, it may be empty.
    await raw.ask(create('/empty', '', FLAGS.persistent, false))
    const empty = openStore({ connect: `${ensemble.connect}/empty` })
    expect((await inspectPage(empty, { prefix: '', cursor: undefined, limit: 10 })).locks).toEqual(
      [],
    )
    expect(await empty.inspect(['x'])).toEqual([])
  })

  test('a TTL that ZooKeeper does not grant is an error, and is not changed', async () => {
    const store = openStore()
    await expect(store.attempt(makeClaim('x', { ttlMs: 90_000 }), QUEUE)).rejects.toMatchObject({
      code: 'STORE_CONFIG',
      message: expect.stringContaining('maxSessionTimeout') as string,
    })
  })

  test('nodes made with an identity refuse others', async () => {
    await raw.ask(create('/guarded', '', FLAGS.persistent, false))
    const connect = `${ensemble.connect}/guarded`
    const auth = { scheme: 'digest', user: 'me', password: 'secret' } as const
    expect(await openStore({ connect, auth }).attempt(makeClaim('x'), QUEUE)).toMatchObject({
      outcome: 'granted',
    })
    for (const wrong of [{}, { auth: { ...auth, password: 'wrong' } }]) {
      await expect(
        openStore({ connect, ...wrong }).attempt(makeClaim('x'), QUEUE),
      ).rejects.toMatchObject({
        code: 'STORE_AUTH',
        message: expect.stringContaining('the nodes under /guarded/holdfast') as string,
      })
    }
  })
})
