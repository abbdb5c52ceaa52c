/** What went wrong in other locks over etcd. */
import http2, { type ClientHttp2Session } from 'node:http2'
import { syncBuiltinESMExports } from 'node:module'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startEtcd, type EtcdCluster } from '@holdfast/servers/etcd'
import { eventually } from '@holdfast/servers/eventually'
import {
  after,
  ask,
  endSession,
  keys,
  leavesNoWord,
  makeClaim,
  TRY,
  openLocks,
  openProxy,
  openStore,
  QUEUE,
} from './support/world.js'

let cluster: EtcdCluster
let endpoint: string

beforeAll(async () => {
  cluster = await startEtcd()
  endpoint = cluster.endpoints[0] ?? ''
})
afterAll(() => cluster.stop())

const store = () => openStore({ endpoints: [endpoint] })
const lockOf = (name: string): string => `${name}-${process.pid}`

describe('an attempt in doubt', () => {
  test('whose answer was lost leaves no ghost, and the next one gets the lock soon', async () => {
    const { proxy, endpoints } = await openProxy(endpoint)
    const locks = openLocks({ endpoints }, { ttlMs: 20_000 })
    const other = openLocks({ endpoints: [endpoint] })
    // The session is there before the fault, so that the lost answer is that of the entry.
    await (await locks.mutex('warm').acquire()).release()
    proxy.faults.dropReplies = true
    await expect(locks.mutex('ghost').acquire({ waitMs: 1500 })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    })
    expect(await keys(endpoint, 'holdfast/locks/ghost/')).toHaveLength(1)
    proxy.heal()
    proxy.reset()
    const lease = await other.mutex('ghost').acquire({ waitMs: 5000 })
    expect(lease.held).toBe(true)
  })

  test('that arrives after it was given up is refused by etcd itself', async () => {
    const [one, two] = [store(), store()]
    const claim = makeClaim(lockOf('late'))
    // Another connection blocks the claim, unknown to the one that attempts.
    expect(await two.withdraw(claim)).toBe('absent')
    expect(await one.attempt(claim, QUEUE)).toEqual({ outcome: 'withdrawn' })
    expect(await keys(endpoint, `holdfast/locks/${claim.lock}/`)).toEqual([])
  })

  test('gets its lost answer by the next attempt, with the same place', async () => {
    const { proxy, endpoints } = await openProxy(endpoint)
    const one = openStore({ endpoints })
    await one.attempt(makeClaim(lockOf('warm-2')), TRY)
    const claim = makeClaim(lockOf('again'))
    proxy.faults.dropReplies = true
    const first = Promise.resolve(one.attempt(claim, QUEUE)).catch((error: unknown) => error)
    await expect.poll(() => keys(endpoint, `holdfast/locks/${claim.lock}/`)).toHaveLength(1)
    proxy.heal()
    proxy.reset()
    await first
    const again = await one.attempt(claim, QUEUE)
    expect(again.outcome).toBe('granted')
    expect(await keys(endpoint, `holdfast/locks/${claim.lock}/`)).toHaveLength(1)
    expect(await one.withdraw(claim)).toBe('released')
  })
})

test('a claim that is given up leaves no word in etcd when its attempt is answered', async () => {
  const { proxy, endpoints } = await openProxy(endpoint)
  const words = () => keys(endpoint, 'holdfast/gone/')
  const before = await words()
  await leavesNoWord(proxy, openStore({ endpoints }), store())
  expect(await words()).toEqual(before)
})

describe('a waiter whose session ended', () => {
  test('does not hold when the claims before it leave (etcd issue 11456)', async () => {
    const [one, two] = [store(), store()]
    const [holder, waiter] = [makeClaim(lockOf('expired')), makeClaim(lockOf('expired'))]
    await one.attempt(holder, QUEUE)
    expect(await two.attempt(waiter, QUEUE)).toMatchObject({ outcome: 'waiting' })
    const woken: unknown[] = []
    two.watch(waiter, (grant) => woken.push(grant))
    await endSession(endpoint, waiter)
    await one.withdraw(holder)
    await expect.poll(() => woken).toEqual([undefined])
    expect(await two.attempt(waiter, QUEUE)).toEqual({ outcome: 'withdrawn' })
  })

  test('queues again by itself, and is served', async () => {
    const [one, two] = [openLocks({ endpoints: [endpoint] }), openLocks({ endpoints: [endpoint] })]
    const held = await one.mutex('served').acquire()
    const waiting = two.mutex('served').acquire({ waitMs: 10_000 })
    const queue = async () => (await one.inspect({ prefix: 'served' })).locks[0]?.waiters ?? []
    await expect.poll(queue).toHaveLength(1)
    const [waiter] = await queue()
    await endSession(endpoint, makeClaim('served', { id: waiter?.claimId ?? '' }))
    await held.release()
    expect((await waiting).held).toBe(true)
  })
})

test('a compaction under a waiting watch costs one more look, and not the turn', async () => {
  const [one, two] = [store(), store()]
  const [holder, waiter] = [makeClaim(lockOf('compact')), makeClaim(lockOf('compact'))]
  await one.attempt(holder, QUEUE)
  await two.attempt(waiter, QUEUE)
  // The watch begins after its queue has moved, and after etcd has forgotten how.
  await one.withdraw(holder)
  const { header } = await ask<{ header: { revision: string } }>(endpoint, 'kv/put', {
    key: 'eA==',
    value: 'eA==',
  })
  await ask(endpoint, 'kv/compaction', { revision: header.revision, physical: true })
  const woken: unknown[] = []
  two.watch(waiter, (grant) => woken.push(grant))
  await expect.poll(() => woken).toHaveLength(1)
  expect(woken[0]).toMatchObject({ tokens: 1 })
})

test('a release takes out the entry that it made, and none that stands in its place', async () => {
  const one = store()
  const claim = makeClaim(lockOf('guarded'))
  await one.attempt(claim, QUEUE)
  const [entry] = await keys(endpoint, `holdfast/locks/${claim.lock}/`)
  await endSession(endpoint, claim)
  const key = Buffer.from(entry?.key ?? '').toString('base64')
  await ask(endpoint, 'kv/put', { key, value: Buffer.from('another').toString('base64') })
  expect(await one.withdraw(claim)).toBe('absent')
  expect(await keys(endpoint, `holdfast/locks/${claim.lock}/`)).toHaveLength(1)
})

test('a release whose answer was lost says the truth when it is repeated', async () => {
  const { proxy, endpoints } = await openProxy(endpoint)
  const one = openStore({ endpoints })
  const claim = makeClaim(lockOf('in-doubt'))
  await one.attempt(claim, QUEUE)
  proxy.faults.dropReplies = true
  const first = Promise.resolve(one.withdraw(claim)).catch((error: { code: string }) => error.code)
  await expect.poll(() => keys(endpoint, `holdfast/locks/${claim.lock}/`)).toEqual([])
  proxy.heal()
  proxy.reset()
  expect(await first).toBe('STORE_UNAVAILABLE')
  expect(await one.withdraw(claim)).toBe('released')
})

test.each([true, false])(
  'a steal whose answer was lost counts the lease that it ended, with now: %s',
  async (now) => {
    const { proxy, endpoints } = await openProxy(endpoint)
    const [thief, others] = [openStore({ endpoints }), store()]
    const lock = lockOf(`stolen-${now}`)
    const [former, next] = [makeClaim(lock), makeClaim(lock)]
    await others.attempt(former, QUEUE)
    // From now on the theft is one request.
    await thief.steal(lockOf('free'), { now })
    await thief.inspect([lock])
    let steals = 0
    proxy.onRequest = (bytes) => {
      if (!bytes.includes('for repairs')) return
      steals += 1
      if (steals === 1) proxy.faults.dropReplies = true
    }
    const stealing = Promise.resolve(thief.steal(lock, { now, reason: 'for repairs' }))
    await eventually('it is stolen', async () => {
      const [info] = await others.inspect([lock])
      return info?.holders.every(({ stolen }) => stolen) ?? true
    })
    await others.withdraw(former)
    expect(await others.attempt(next, QUEUE)).toMatchObject({ outcome: 'granted' })
    proxy.heal()
    proxy.reset()
    expect((await stealing).holders).toBe(1)
    expect(await others.renew([next])).toEqual([{ outcome: 'renewed' }])
  },
)

test('a claim that could not be withdrawn does not live on with its session', async () => {
  const { proxy, endpoints } = await openProxy(endpoint)
  const one = openStore({ endpoints })
  const [stuck, kept] = [makeClaim(lockOf('stuck')), makeClaim(lockOf('kept'))]
  await one.attempt(stuck, QUEUE)
  await one.attempt(kept, QUEUE)
  proxy.faults.refuse = true
  proxy.reset()
  await expect(one.withdraw(stuck)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  proxy.heal()
  expect(await one.renew([kept])).toEqual([{ outcome: 'renewed' }])
  await expect.poll(() => keys(endpoint, `holdfast/locks/${stuck.lock}/`)).toEqual([])
})

test('a steal and a withdrawal work again at once when etcd has lost the lease of their notes', async () => {
  const [holder, operator] = [store(), store()]
  const now = { now: true }
  await holder.attempt(makeClaim('noted-1'), QUEUE)
  expect(await operator.steal('noted-1', now)).toMatchObject({ holders: 1 })
  // As a backup that is restored does.
  const { leases = [] } = await ask<{ leases?: { ID: string }[] }>(endpoint, 'lease/leases')
  for (const { ID } of leases) await ask(endpoint, 'lease/revoke', { ID })
  await store().attempt(makeClaim('noted-2'), QUEUE)
  expect(await operator.steal('noted-2', now)).toMatchObject({ holders: 1 })
  expect(await operator.withdraw(makeClaim('noted-2'))).toBe('absent')
})

test('a renewal that moves a claim to a session that has just ended opens another', async () => {
  const [one, other] = [store(), store()]
  const lock = lockOf('moved')
  const first = makeClaim(lock)
  await other.attempt(first, QUEUE)
  const claim = makeClaim(lock)
  expect(await one.attempt(claim, QUEUE)).toMatchObject({ outcome: 'waiting' })
  const granted = new Promise<unknown>((resolve) =>
    one.watch(claim, (grant) => grant && resolve(grant)),
  )
  // The session of the leases of this client, which the claim moves to with its first renewal.
  const held = makeClaim(lockOf('beside'))
  expect(await one.attempt(held, QUEUE)).toMatchObject({ outcome: 'granted' })
  await other.withdraw(first)
  await granted
  await endSession(endpoint, held)
  expect(await one.renew([claim])).toEqual([{ outcome: 'renewed' }])
})

test('an answer that is cut in the middle of a frame leaves the request in doubt', async () => {
  const { proxy, endpoints } = await openProxy(endpoint)
  const one = openStore({ endpoints })
  await one.attempt(makeClaim(lockOf('warm-3')), TRY)
  for (const bytes of [1, 9, 20]) {
    const claim = makeClaim(lockOf(`cut-${bytes}`))
    proxy.faults.cutReplyAt = bytes
    // The attempt is repeated on a new connection, and finds what the first one made.
    expect(await one.attempt(claim, QUEUE)).toMatchObject({ outcome: 'granted' })
    expect(await keys(endpoint, `holdfast/locks/${claim.lock}/`)).toHaveLength(1)
    expect(await one.withdraw(claim)).toBe('released')
  }
})

test('a waiter watches only the one before it', async () => {
  const stores = Array.from({ length: 4 }, store)
  const claims = stores.map(() => makeClaim(lockOf('herd')))
  const wakes = [0, 0, 0, 0]
  for (const [index, one] of stores.entries()) {
    const claim = claims[index] ?? makeClaim('lock')
    await one.attempt(claim, QUEUE)
    one.watch(claim, () => (wakes[index] = (wakes[index] ?? 0) + 1))
  }
  await stores[0]?.withdraw(claims[0] ?? makeClaim('lock'))
  await expect.poll(() => wakes[1]).toBe(1)
  expect(wakes).toEqual([0, 1, 0, 0])
})

test('a session that ended costs nothing to those whose entries travel together with its own', async () => {
  const one = store()
  const short = (name: string) => makeClaim(lockOf(name), { ttlMs: 5000 })
  // Two sessions, of which one is ended behind the back of the store.
  const [first, other] = [short('company-1'), makeClaim(lockOf('company-2'))]
  await one.attempt(first, QUEUE)
  await one.attempt(other, QUEUE)
  await endSession(endpoint, first)
  const claims = [
    short('company-3'),
    makeClaim(lockOf('company-4')),
    makeClaim(lockOf('company-5')),
  ]
  const attempts = Promise.all(claims.map(async (claim) => one.attempt(claim, QUEUE)))
  // Etcd refuses the transaction as a whole, for the sake of the first attempt.
  expect(await one.withdraw(other)).toBe('released')
  for (const { outcome } of await attempts) expect(outcome).toBe('granted')
  for (const claim of claims) {
    expect(await keys(endpoint, `holdfast/locks/${claim.lock}/`)).toHaveLength(1)
    expect(await one.withdraw(claim)).toBe('released')
  }
})

test('a connection that runs out of numbers for its requests is replaced before, and ends with its last watch', async () => {
  const connections = recordConnections()
  const one = store()
  const [holder, waiter] = [makeClaim(lockOf('numbers')), makeClaim(lockOf('numbers'))]
  await one.attempt(holder, QUEUE)
  await one.attempt(waiter, QUEUE)
  const woken: unknown[] = []
  const watch = one.watch(waiter, (grant) => woken.push(grant))
  const old = connections.at(-1)
  // Room for twenty more.
  old?.setNextStreamID(2 ** 31 - 41)
  const made = connections.length
  for (let round = 0; round < 30; round += 1) {
    const claim = makeClaim(lockOf('numbered'))
    expect(await one.attempt(claim, QUEUE)).toMatchObject({ outcome: 'granted' })
    expect(await one.withdraw(claim)).toBe('released')
  }
  expect(connections).toHaveLength(made + 1)
  expect(old?.destroyed).toBe(false)
  expect(await one.withdraw(holder)).toBe('released')
  await expect.poll(() => woken).toHaveLength(1)
  watch.close()
  await expect.poll(() => old?.destroyed).toBe(true)
  expect(await one.withdraw(waiter)).toBe('released')
})

/** Node has this and its types do not. */
type Http2Session = ClientHttp2Session & { setNextStreamID(id: number): void }

/** All connections over HTTP/2 that are made from now on, in this test. */
function recordConnections(): Http2Session[] {
  const connections: Http2Session[] = []
  const { connect } = http2
  const set = (now: typeof connect): void => {
    http2.connect = now
    syncBuiltinESMExports()
  }
  set(((...args: Parameters<typeof connect>) => {
    const session = connect(...args)
    connections.push(session as Http2Session)
    return session
  }) as typeof connect)
  after(async () => set(connect))
  return connections
}

test('a lease does not believe in more than etcd promised', async () => {
  const one = store()
  const claim = makeClaim(lockOf('promise'), { ttlMs: 3000 })
  await one.attempt(claim, QUEUE)
  const [entry] = await keys(endpoint, `holdfast/locks/${claim.lock}/`)
  for (let round = 0; round < 25; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    const other = makeClaim(lockOf('promise-2'), { ttlMs: 3000 })
    const granted = await one.attempt(other, QUEUE)
    const { TTL } = await ask<{ TTL: string }>(endpoint, 'lease/timetolive', { ID: entry?.lease })
    // etcd shows whole seconds, rounded down.
    const left = granted.outcome === 'granted' ? granted.remainingMs : Infinity
    expect(left).toBeLessThanOrEqual((Number(TTL) + 1) * 1000)
    await one.withdraw(other)
  }
})
