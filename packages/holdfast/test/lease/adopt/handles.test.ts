/** Handles that were damaged, forged, or made for another store: refused, and nothing is harmed. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLocks, StoreUnavailableError, type Clock, type Locks } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'
import { afterAll, afterEach, expect, test } from 'vitest'
import { decodeHandle, encodeHandle } from '../../../dist/lease/adopt/handle.js'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-handles-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const opened: Locks[] = []
afterEach(async () => {
  for (const locks of opened.splice(0)) {
    await locks.close()
    await locks.store.close()
  }
})

async function exported() {
  const locks = createLocks(embeddedStore({ directory: folder }), { ttlMs: 60_000 })
  opened.push(locks)
  await locks.steal('a', { now: true })
  const lock = locks.mutex('a')
  const handle = await (await lock.acquire()).export()
  return { locks, lock, handle }
}

test('a handle with any one character changed or cut is refused', async () => {
  const { lock, locks, handle } = await exported()
  const damaged = handle.split('').flatMap((unit, at) => {
    const [before, after] = [handle.slice(0, at), handle.slice(at + 1)]
    return [before + after, before, `${before}${unit === 'x' ? 'y' : 'x'}${after}`]
  })
  for (const text of damaged) {
    await expect(lock.adopt(text)).rejects.toMatchObject({ code: 'LOCK_USAGE' })
    await expect(locks.releaseHandle(text)).rejects.toMatchObject({ code: 'LOCK_USAGE' })
  }
  const lease = await lock.adopt(handle)
  expect(lease.held).toBe(true)
  await lease.release()
})

const FORGED: readonly [string, Record<string, unknown>][] = [
  ['another store', { store: 'redis' }],
  ['another lock', { lock: 'b' }],
  ['no lock', { lock: '' }],
  ['a lock of too many bytes', { lock: 'x'.repeat(600) }],
  ['control characters', { lock: 'a\n' }],
  ['another kind', { kind: 'queue' }],
  ['a capacity of no number', { capacity: '5' }],
  ['a fraction as weight', { weight: 1.5 }],
  ['more weight than capacity', { kind: 'semaphore', capacity: 2, weight: 3 }],
  ['no TTL', { ttlMs: 0 }],
  ['a negative TTL', { ttlMs: -1 }],
  ['a TTL of text', { ttlMs: '60000' }],
  ['a claim id with other characters', { claimId: 'a b' }],
  ['a claim id that is too long', { claimId: 'x'.repeat(65) }],
]

test.each(FORGED)('a forged handle with %s is refused', async (_name, change) => {
  const { lock, locks, handle } = await exported()
  const forged = encodeHandle({ ...decodeHandle(handle), ...change })
  await expect(lock.adopt(forged)).rejects.toMatchObject({ code: 'LOCK_USAGE' })
  if (!('lock' in change && change['lock'] === 'b')) {
    await expect(locks.renewHandle(forged)).rejects.toMatchObject({ code: 'LOCK_USAGE' })
  }
  expect((await lock.adopt(handle)).held).toBe(true)
})

test('the error for a handle of another store names the lock and both stores', async () => {
  const { lock, handle } = await exported()
  const forged = encodeHandle({ ...decodeHandle(handle), store: 'etcd' })
  await expect(lock.adopt(forged)).rejects.toThrow(
    'The handle is of a lease on "a" in another kind of store: etcd, and this one is embedded.',
  )
})

test('a handle with another token or claim finds the lease lost, and harms nothing', async () => {
  const { lock, locks, handle } = await exported()
  const real = decodeHandle(handle)
  for (const change of [
    { token: real.token + 1n },
    { token: 10n ** 20n - 1n },
    { claimId: 'other.1' },
  ]) {
    const forged = encodeHandle({ ...real, ...change })
    await expect(lock.adopt(forged)).rejects.toMatchObject({ code: 'LOCK_LOST' })
  }
  const other = encodeHandle({ ...real, claimId: 'other.2' })
  await expect(locks.renewHandle(other)).rejects.toMatchObject({ code: 'LOCK_LOST' })
  expect(await locks.releaseHandle(other)).toBe('lost')
  expect((await lock.adopt(handle)).held).toBe(true)
})

test('a handle has no secret and no more than what inspect shows', async () => {
  const { locks, handle } = await exported()
  const {
    locks: [info],
  } = await locks.inspect()
  const { token, claimId, ...rest } = decodeHandle(handle)
  expect(info?.holders[0]).toMatchObject({ token, claimId })
  expect(Object.keys(rest).sort()).toEqual(
    ['capacity', 'kind', 'lock', 'store', 'ttlMs', 'weight'].sort(),
  )
})

test('an adoption whose answer comes after the deadline rejects with LOCK_LOST, and frees the lock', async () => {
  const { lock, handle } = await exported()
  let aheadMs = 0
  const clock: Clock = {
    monotonicMs: () => performance.now() + aheadMs,
    wallMs: () => Date.now() + aheadMs,
    timer(delayMs, fire) {
      const timer = setTimeout(fire, delayMs)
      return { cancel: () => clearTimeout(timer) }
    },
  }
  const store = embeddedStore({ directory: folder })
  const adopt = store.adopt?.bind(store) ?? expect.unreachable()
  store.adopt = async (adoption) => {
    const result = await adopt(adoption)
    aheadMs = 60_000
    return result
  }
  const adopter = createLocks(store, { ttlMs: 60_000, clock })
  opened.push(adopter)
  await expect(adopter.mutex('a').adopt(handle)).rejects.toMatchObject({ code: 'LOCK_LOST' })
  const next = await lock.acquire({ waitMs: 5_000 })
  expect(await next.release()).toBe('released')
})

test('an adoption that is answered after the client was closed rejects, and frees the lock', async () => {
  const { lock, handle } = await exported()
  const store = embeddedStore({ directory: folder })
  const adopt = store.adopt?.bind(store) ?? expect.unreachable()
  const adopter = createLocks(store)
  opened.push(adopter)
  store.adopt = async (adoption) => {
    const result = await adopt(adoption)
    void adopter.close()
    return result
  }
  await expect(adopter.mutex('a').adopt(handle)).rejects.toMatchObject({ code: 'LOCKS_CLOSED' })
  const next = await lock.acquire({ waitMs: 5_000 })
  expect(await next.release()).toBe('released')
})

test.each(['adopt', 'renewHandle'] as const)(
  'callers of %s that share an answer of the store get an error each',
  async (call) => {
    const { lock, locks, handle } = await exported()
    const shared = new StoreUnavailableError('The disk is full.', { code: 'STORE_CONFIG' })
    const refuse = (): Promise<never> => Promise.reject(shared)
    Object.assign(locks.store, { adopt: refuse, renew: refuse, withdraw: refuse })
    const ask = (): Promise<unknown> =>
      call === 'adopt' ? lock.adopt(handle) : locks[call](handle)
    const [first, second] = await Promise.all(
      [ask(), ask()].map((asked) => asked.catch((error: unknown) => error)),
    )
    expect(first).toMatchObject({ code: 'STORE_CONFIG' })
    expect(second).toMatchObject({ code: 'STORE_CONFIG' })
    expect(second).not.toBe(first)
  },
)
