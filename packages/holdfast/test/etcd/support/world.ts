/**
 * etcd for tests: claims, clients that are closed in the end, and etcd's own view through its JSON
 * gateway.
 */
import {
  createLocks,
  StoreUnavailableError,
  type Lease,
  type Locks,
  type LocksOptions,
} from 'holdfast'
import { etcdStore, type EtcdOptions } from 'holdfast/etcd'
import type { Claim, Store } from 'holdfast/store'
import { expect } from 'vitest'
import { Proxy } from '@holdfast/servers/proxy'
import type { Service } from '@holdfast/servers/service'
import { after } from '../../../../../test/support/after.js'
import { makeClaim as makeAnyClaim, QUEUE } from '../../../../../test/support/claims.js'

export { after } from '../../../../../test/support/after.js'
export { QUEUE, TRY } from '../../../../../test/support/claims.js'

export function openStore(options: EtcdOptions): Store {
  const store = etcdStore(options)
  after(async () => store.close())
  return store
}

export function openLocks(options: EtcdOptions, settings: LocksOptions = {}): Locks {
  const store = openStore(options)
  const locks = createLocks(store, settings)
  after(() => locks.close({ graceMs: 0 }))
  return locks
}

/** A proxy in front of an endpoint, and the address to give to clients. */
export async function openProxy(
  endpoint: string,
): Promise<{ proxy: Proxy; endpoints: readonly string[] }> {
  const proxy = await Proxy.to(Number(new URL(endpoint).port))
  after(() => proxy.close())
  return { proxy, endpoints: [`http://127.0.0.1:${proxy.port}`] }
}

/** Makes a claim whose session ends soon after its holder. */
export function makeClaim(lock: string, changes: Partial<Claim> = {}): Claim {
  return makeAnyClaim(lock, { ttlMs: 10_000, ...changes })
}

/** Asks etcd itself. */
export async function ask<T>(endpoint: string, path: string, body: object = {}): Promise<T> {
  const response = await fetch(`${endpoint}/v3/${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
  return (await response.json()) as T
}

interface Kv {
  readonly key: string
  readonly value?: string
  readonly lease?: string
}

const decode = (text: string): string => Buffer.from(text, 'base64').toString()

/** All keys that begin so, as etcd has them. */
export async function keys(
  endpoint: string,
  prefix: string,
): Promise<{ key: string; value: string; lease: string }[]> {
  const end = Buffer.concat([Buffer.from(prefix), Buffer.of(0xff)])
  const body = { key: Buffer.from(prefix).toString('base64'), range_end: end.toString('base64') }
  const { kvs = [] } = await ask<{ kvs?: Kv[] }>(endpoint, 'kv/range', body)
  return kvs.map(({ key, value = '', lease = '0' }) => ({
    key: decode(key),
    value: decode(value),
    lease,
  }))
}

/** Ends the session of a claim, as if its client had been silent for too long. */
export async function endSession(endpoint: string, { lock, id }: Claim): Promise<void> {
  const queue = await keys(endpoint, `holdfast/locks/${lock}/`)
  const found = queue.find(({ value }) => (JSON.parse(value) as { id?: string }).id === id)
  if (!found) throw new Error(`No entry of ${id}.`)
  await ask(endpoint, 'lease/revoke', { ID: found.lease })
}

/** Returns when the holder learns of the loss, on the monotonic clock. */
function lossOf(lease: Lease): Promise<number> {
  return new Promise((resolve) => {
    lease.signal.addEventListener('abort', () => resolve(performance.now()))
  })
}

/** The server falls silent under a lease of two seconds, and comes back after its deadline. */
export async function fallSilent(
  server: Service | undefined,
  open: (settings: LocksOptions) => Locks,
) {
  const locks = open({ ttlMs: 2000 })
  const lease = await locks.mutex('silent').acquire()
  const lost = lossOf(lease)
  const stalledMs = performance.now()
  await server?.pause()
  expect(lease.held).toBe(true)
  const lostMs = (await lost) - stalledMs
  server?.resume()
  expect(lostMs).toBeLessThan(2000)
  expect(lease.held).toBe(false)
  expect(await lease.release()).toBe('lost')
  // A new session is made by itself where that is needed; the old lease stays lost.
  const next = await locks.mutex('silent').acquire({ waitMs: 20_000 })
  expect(next.token).toBeGreaterThan(lease.token)
  expect(lease.held).toBe(false)
}

interface Minority {
  /** The first of three servers is alone when the others stop. */
  readonly others: readonly Service[]
  openAlone(settings: LocksOptions): Locks
  openAll(): Locks
}

/** Two servers of three stop: no grant, and the holder learns of the loss by its deadline. */
export async function leaveMinority({ others, openAlone, openAll }: Minority): Promise<void> {
  const lease = await openAlone({ ttlMs: 3000 }).mutex('minority').acquire()
  const lost = lossOf(lease)
  const cutMs = performance.now()
  await Promise.all(others.map((server) => server.pause()))
  const other = openAlone({}).mutex('other')
  await expect(other.acquire({ waitMs: 4000 })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect((await lost) - cutMs).toBeLessThan(3000)
  for (const server of others) server.resume()
  const next = await acquired(openAll())
  expect(next.token).toBeGreaterThan(lease.token)
}

/** Asks until there is an answer: an election may outlast the limit of one request. */
async function acquired(locks: Locks): Promise<Lease> {
  const endMs = performance.now() + 20_000
  for (;;) {
    try {
      return await locks.mutex('minority').acquire({ waitMs: 20_000 })
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || performance.now() > endMs) throw error
    }
  }
}

/** A claim hands its lock over to the next one of the same store. */
export async function handOffInside(
  store: Store,
  lock: string,
): Promise<{ handOff(): Promise<void> }> {
  const [holder, waiter] = [makeClaim(lock), makeClaim(lock)]
  expect(await store.attempt(holder, QUEUE)).toMatchObject({ outcome: 'granted' })
  expect(await store.attempt(waiter, QUEUE)).toMatchObject({ outcome: 'waiting' })
  const woken: unknown[] = []
  store.watch(waiter, (grant) => woken.push(grant))
  return {
    async handOff() {
      expect(await store.withdraw(holder)).toBe('released')
      await expect.poll(() => woken).toMatchObject([{ tokens: 1 }])
    },
  }
}

/**
 * Renews a lease by hand, until that works: an election may outlast the limit of one request,
 * and not the lease.
 */
export async function renewed(lease: Lease): Promise<void> {
  const tryIt = async (): Promise<boolean> => {
    try {
      await lease.renew()
      return true
    } catch (error) {
      if (lease.held) return false
      throw error
    }
  }
  await expect.poll(tryIt, { timeout: 10_000 }).toBe(true)
}

/** Outlives what a test does to the network. */
export function longClaim(lock: string): Claim {
  return makeClaim(lock, { ttlMs: 20_000 })
}

/** Outlives that, and two long waits on a slow machine. */
export function outlasting(lock: string): Claim {
  return makeClaim(lock, { ttlMs: 40_000 })
}

/**
 * An attempt and its withdrawal get no answer, nor does the withdrawal of a lease, and there is no
 * retry. `one` is behind the proxy.
 */
export async function leavesNothing(proxy: Proxy, one: Store, two: Store): Promise<void> {
  // It still holds a lock, which keeps all its entries alive.
  const [held, released] = [outlasting('held'), outlasting('released-unheard')]
  for (const claim of [held, released]) await one.attempt(claim, QUEUE)
  const given = outlasting('given-up-unheard')
  const unavailable = { code: 'STORE_UNAVAILABLE' }
  proxy.faults.dropReplies = true
  await expect(one.attempt(given, QUEUE)).rejects.toMatchObject(unavailable)
  proxy.faults.dropRequests = true
  const withdrawing = [given, released].map(async (claim) => one.withdraw(claim))
  for (const withdrawal of await Promise.allSettled(withdrawing)) {
    expect(withdrawal).toMatchObject({ status: 'rejected', reason: unavailable })
  }
  proxy.heal()
  proxy.reset()
  for (const { lock } of [given, released]) {
    const next = outlasting(lock)
    const granted = async (): Promise<string> => (await two.attempt(next, QUEUE)).outcome
    await expect.poll(granted, { timeout: 15_000 }).toBe('granted')
    expect(await two.withdraw(next)).toBe('released')
  }
  expect(await one.withdraw(held)).toBe('released')
}

/**
 * An attempt is given up before its answer is there, and another one when it was refused. `one` is
 * behind the proxy.
 */
export async function leavesNoWord(proxy: Proxy, one: Store, holder: Store): Promise<void> {
  const lock = 'no-word'
  await holder.attempt(makeClaim(lock), QUEUE)
  const given = Array.from({ length: 5 }, () => makeClaim(lock))
  // The sessions are there.
  const warm = makeClaim(lock)
  await one.attempt(warm, QUEUE)
  await one.withdraw(warm)
  proxy.faults.replyMs = 300
  const { packets } = proxy
  const attempts = Promise.all(given.map(async (claim) => one.attempt(claim, QUEUE)))
  await expect.poll(() => proxy.packets).toBeGreaterThan(packets)
  await Promise.all(given.map(async (claim) => one.withdraw(claim)))
  expect(new Set((await attempts).map(({ outcome }) => outcome))).toEqual(new Set(['withdrawn']))
  proxy.heal()
  const misshapen = makeClaim(lock, { kind: 'semaphore', capacity: 2, weight: 1 })
  await expect(one.attempt(misshapen, QUEUE)).rejects.toMatchObject({ code: 'LOCK_MISMATCH' })
  expect(await one.withdraw(misshapen)).toBe('absent')
  expect(await one.attempt(misshapen, QUEUE)).toEqual({ outcome: 'withdrawn' })
}

/** The service grants no session as short as a waiter needs. */
export async function waitsOnLonger(one: Store, two: Store): Promise<void> {
  const lock = 'longer'
  const [holder, waiter] = [makeClaim(lock, { ttlMs: 30_000 }), makeClaim(lock, { ttlMs: 30_000 })]
  expect(await one.attempt(holder, QUEUE)).toMatchObject({ outcome: 'granted' })
  expect(await two.attempt(waiter, QUEUE)).toMatchObject({ outcome: 'waiting' })
  const woken: unknown[] = []
  two.watch(waiter, (grant) => woken.push(grant))
  expect(await one.withdraw(holder)).toBe('released')
  // A grant lives for three heartbeats until its first renewal, however long its session does.
  await expect.poll(() => woken).toMatchObject([{ ttlMs: 3000 }])
  expect(await two.renew([waiter])).toEqual([{ outcome: 'renewed' }])
  // A longer session is right for a waiter, and not for a lease: it would outlive a dead holder.
  const short = makeClaim('longer-2', { ttlMs: 3000 })
  await expect(two.attempt(short, QUEUE)).rejects.toMatchObject({ code: 'STORE_CONFIG' })
  expect(await two.withdraw(waiter)).toBe('released')
}

/** Whether a count stands still for a moment. */
export async function isQuiet(count: () => number): Promise<boolean> {
  const before = count()
  await new Promise((resolve) => setTimeout(resolve, 100))
  return count() === before
}
