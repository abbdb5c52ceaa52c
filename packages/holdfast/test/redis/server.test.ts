/** What a server may do to a store: forget scripts and data, be full, hold foreign keys, refuse. */
import { inspectPage } from 'holdfast/internal'
import { aclRule } from '../../dist/stores/redis/rule/acl.js'
import { LockUsageError, createLocks } from 'holdfast'
import type { Claim, Store } from 'holdfast/store'
import { describe, expect, test } from 'vitest'
import type { RedisServer } from '@holdfast/servers/redis'
import { eventually } from '@holdfast/servers/eventually'
import { LIBRARIES, makeClaim, openStore, QUEUE, startServer, take, TRY } from './support/world.js'

/** The keys of the server, each with its remaining life in milliseconds. */
async function keysOf(server: RedisServer): Promise<Map<string, number>> {
  const reply = await server.command('KEYS', '*')
  const keys = reply.split('\r\n').filter((line) => line.startsWith('hf:'))
  const lives = await Promise.all(keys.map((key) => server.command('PTTL', key)))
  return new Map(keys.map((key, index) => [key, Number((lives[index] ?? '').slice(1))]))
}

/** How often the server did each command since the last reset, scripts' own commands included. */
async function countsOf(server: RedisServer): Promise<Map<string, number>> {
  const reply = await server.command('INFO', 'commandstats')
  const found = reply.matchAll(/cmdstat_([\w|]+):calls=(\d+)/g)
  return new Map([...found].map(([, name, calls]) => [name as string, Number(calls)]))
}

describe('scripts', () => {
  test('are sent again after SCRIPT FLUSH, and the state is as it was', async () => {
    const server = await startServer()
    const store = openStore(server)
    const claim = makeClaim('lock')
    const { token } = await take(store, claim)
    await server.command('SCRIPT', 'FLUSH')
    expect(await store.attempt(claim, TRY)).toMatchObject({
      outcome: 'granted',
      alreadyGranted: true,
      token,
    })
    await server.command('SCRIPT', 'FLUSH')
    expect(await store.inspect(['lock'])).toMatchObject([{ holders: [{ claimId: claim.id }] }])
    await server.command('SCRIPT', 'FLUSH')
    expect(await Promise.all([store.withdraw(claim), store.renew([claim])])).toEqual([
      'released',
      [{ outcome: 'lost', reason: 'expired' }],
    ])
  })

  test('remember a release for a while, wherever in the life of the lock it comes', async () => {
    const server = await startServer()
    const store = openStore(server)
    const pair = async (): Promise<Claim> => {
      const claim = makeClaim('lock')
      await take(store, claim)
      expect(await store.withdraw(claim)).toBe('released')
      return claim
    }
    for (let uses = 0; uses < 16; uses += 1) {
      const claim = await pair()
      for (let others = 0; others < 2; others += 1) await pair()
      // As by a client whose first one was not answered.
      expect(await store.withdraw(claim), `after ${uses} uses`).toBe('released')
      await server.command('DEL', 'hf:{lock}', 'hf:{lock}:t')
      for (let before = 0; before <= uses; before += 1) await pair()
    }
  })

  test('make at most two calls for an uncontended pair, and publish nothing', async () => {
    const server = await startServer()
    const store = openStore(server)
    const locks = createLocks(store)
    await (await locks.mutex('lock').acquire()).release()
    await server.command('CONFIG', 'RESETSTAT')
    for (let pair = 0; pair < 10; pair += 1) await (await locks.mutex('lock').acquire()).release()
    const counts = await countsOf(server)
    expect(counts.get('evalsha')).toBe(20)
    expect(counts.get('publish')).toBeUndefined()
    expect(counts.get('subscribe')).toBeUndefined()
    await locks.close()
  })

  test('make two calls and one publication for a hand-off, however many wait', async () => {
    const server = await startServer()
    const [holders, waiters] = [openStore(server), openStore(server)]
    let holder = makeClaim('lock')
    await take(holders, holder)
    const crowd = Array.from({ length: 40 }, () => makeClaim('lock', { heartbeatMs: 10_000 }))
    for (const claim of crowd) await waiters.attempt(claim, QUEUE)
    await server.command('CONFIG', 'RESETSTAT')
    for (const next of crowd.slice(0, 10)) {
      expect(await holders.withdraw(holder)).toBe('released')
      holder = next
    }
    const counts = await countsOf(server)
    expect(counts.get('evalsha')).toBe(10)
    expect(counts.get('publish')).toBe(10)
  })

  test('read no waiter where only the holders are asked for, however many wait', async () => {
    const server = await startServer()
    const store = openStore(server)
    await take(store, makeClaim('lock'))
    for (let count = 0; count < 30; count += 1) await store.attempt(makeClaim('lock'), QUEUE)
    await server.command('CONFIG', 'RESETSTAT')
    expect(await store.inspect(['lock'], [])).toMatchObject([{ holders: [{}], waiters: [] }])
    const counts = await countsOf(server)
    expect((counts.get('hget') ?? 0) + (counts.get('hgetall') ?? 0)).toBeLessThan(5)
  })

  test('do all that is asked in one turn in one call', async () => {
    const server = await startServer()
    const store = openStore(server)
    const claims = Array.from({ length: 16 }, (_, index) => makeClaim(`lock ${index}`))
    await take(store, makeClaim('warm'))
    await server.command('CONFIG', 'RESETSTAT')
    await Promise.all(claims.map((claim) => take(store, claim)))
    await store.renew(claims)
    await Promise.all(claims.map(async (claim) => store.withdraw(claim)))
    expect((await countsOf(server)).get('evalsha')).toBe(3)
  })
})

describe('keys', () => {
  test('all have a TTL, longer than what is in them, and one hash tag for each lock', async () => {
    const server = await startServer()
    const store = openStore(server)
    const readers = { kind: 'readWriteLock', weight: 1 } as const
    const claims = [makeClaim('a{b}c', readers), makeClaim('a{b}c', readers), makeClaim('a{b}c')]
    for (const claim of claims) await store.attempt(claim, QUEUE)
    await store.withdraw(makeClaim('a{b}c', { ttlMs: 600_000 }))
    const keys = await keysOf(server)
    expect([...keys.keys()].sort()).toEqual(
      ['', ':h', ':q', ':t', ':w'].map((suffix) => `hf:{a%7Bb%7Dc}${suffix}`),
    )
    for (const [key, lifeMs] of keys) {
      // The state of the lock has to say whether there are tombstones, so it lives as
      // long.
      const neededMs = key.endsWith(':t') || key.endsWith('}') ? 600_000 : 30_000
      expect(lifeMs, key).toBeGreaterThan(neededMs)
      expect(lifeMs, key).toBeLessThan(3 * neededMs + 120_000)
    }
  })

  test('all have a TTL through a long life of every kind of lock', async () => {
    const server = await startServer()
    const store = openStore(server)
    for (let round = 0; round < 300; round += 1) {
      const kind = (['mutex', 'readWriteLock', 'semaphore'] as const)[round % 3] ?? 'mutex'
      const shape = kind === 'semaphore' ? { kind, capacity: 2, weight: 1 } : { kind }
      const claims = Array.from({ length: 4 }, () => makeClaim(`a ${kind}`, shape))
      for (const claim of claims) await store.attempt(claim, { enqueue: true, tokens: 3 })
      for (const claim of claims) await store.withdraw(claim)
    }
    for (const [key, lifeMs] of await keysOf(server)) expect(lifeMs, key).toBeGreaterThan(0)
  })

  test('of a lease that is renewed for long live on', async () => {
    const server = await startServer()
    const store = openStore(server)
    const reader = makeClaim('lock', { kind: 'readWriteLock', weight: 1, ttlMs: 1000 })
    await take(store, reader)
    await store.renew([{ ...reader, ttlMs: 3_600_000 }])
    for (const [key, lifeMs] of await keysOf(server)) expect(lifeMs, key).toBeGreaterThan(3_600_000)
  })

  test('of another type, or with other contents, are no busy lock, and harm no other lock', async () => {
    const server = await startServer()
    const store = openStore(server)
    await server.command('LPUSH', 'hf:{a list}', 'x')
    await server.command('SET', 'hf:{a text}', 'another program')
    await server.command('SET', 'hf:{a queue}:q', 'x')
    const errors = await Promise.allSettled([
      store.attempt(makeClaim('a list'), TRY),
      take(store, makeClaim('fine')),
      store.attempt(makeClaim('a text'), TRY),
      store.withdraw(makeClaim('a list')),
    ])
    expect(errors.map(({ status }) => status)).toEqual([
      'rejected',
      'fulfilled',
      'rejected',
      'rejected',
    ])
    for (const result of errors) {
      if (result.status === 'fulfilled') continue
      expect(result.reason).toMatchObject({ code: 'STORE_CONFIG', store: 'redis' })
      expect((result.reason as { lock: string }).lock).toMatch(/^a (list|text)$/)
      expect(String(result.reason)).toMatch(/another lock name, or another prefix/)
    }
    const [renewed] = await store.renew([makeClaim('a list')])
    expect(renewed).toMatchObject({ outcome: 'unknown', cause: { code: 'STORE_CONFIG' } })
    await take(store, makeClaim('a queue'))
    await expect(store.attempt(makeClaim('a queue'), QUEUE)).rejects.toMatchObject({
      code: 'STORE_CONFIG',
    })
    expect(await server.command('GET', 'hf:{a text}')).toContain('another program')
  })

  test.each([
    ['of another type', 'LPUSH'],
    ['with other contents', 'SET'],
  ])('%s are named in the list of locks', async (_, command) => {
    const server = await startServer()
    const store = openStore(server)
    await take(store, makeClaim('fine'))
    await server.command(command, 'hf:{foreign}', 'something of another program')
    const error = await Promise.resolve(inspectPage(store, { prefix: '', limit: 9 })).catch(
      (caught: unknown) => caught,
    )
    expect(error).toMatchObject({ code: 'STORE_CONFIG', store: 'redis' })
    expect(String(error)).toContain('hf:{foreign}')
    // The others can be looked at all the same.
    expect((await inspectPage(store, { prefix: 'fi', limit: 9 })).locks).toHaveLength(1)
  })
})

describe('a server that loses everything', () => {
  test('ends the leases of holders, and its tokens grow', async () => {
    const server = await startServer()
    const store = openStore(server)
    const claim = makeClaim('lock')
    const before = await store.attempt(claim, { enqueue: true, tokens: 32 })
    await server.command('FLUSHALL')
    expect(await store.renew([claim])).toEqual([{ outcome: 'lost', reason: 'expired' }])
    const next = await take(store, makeClaim('lock'))
    if (before.outcome !== 'granted' || before.token === undefined) throw new Error('not granted')
    expect(next.token).toBeGreaterThan(before.token + 31n)
    expect(await store.withdraw(claim)).toBe('absent')
  })

  test('aborts the work under its locks', async () => {
    const server = await startServer()
    const locks = createLocks(openStore(server), { ttlMs: 600 })
    const lease = await locks.mutex('lock').acquire()
    await server.command('FLUSHALL')
    await eventually('the loss', () => lease.signal.aborted, { withinMs: 1000 })
    expect(lease.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' })
    await locks.close()
  })

  test('serves its waiters', async () => {
    const server = await startServer()
    const store = openStore(server)
    const [one, two] = [createLocks(store), createLocks(openStore(server))]
    await one.mutex('lock').acquire()
    const waiting = two.mutex('lock').acquire()
    await eventually(
      'it waits',
      async () => (await store.inspect(['lock']))[0]?.waiters.length === 1,
    )
    await server.command('FLUSHALL')
    const lease = await waiting
    expect(lease.held).toBe(true)
    await Promise.all([one.close(), two.close()])
  })
})

async function fill(server: RedisServer): Promise<void> {
  await server.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
  await server.command('CONFIG', 'SET', 'maxmemory', '1mb')
}

describe('a server that is out of memory', () => {
  test('refuses new claims in a typed way, and keeps and frees what is held', async () => {
    const server = await startServer()
    const store = openStore(server)
    const shared = { kind: 'semaphore', capacity: 2, weight: 1 } as const
    const [mutex, permit] = [makeClaim('mutex'), makeClaim('permits', shared)]
    await take(store, mutex)
    await take(store, permit)
    await fill(server)
    for (const claim of [makeClaim('new'), makeClaim('permits', shared)]) {
      await expect(store.attempt(claim, TRY)).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        lock: claim.lock,
      })
      await expect(store.attempt(claim, TRY)).rejects.toThrow(/out of memory/)
    }
    for (const claim of [mutex, permit]) {
      expect(await store.renew([claim])).toEqual([{ outcome: 'renewed' }])
      expect(await store.withdraw(claim)).toBe('released')
      expect(await store.withdraw(claim)).toBe('released')
    }
    await server.command('CONFIG', 'SET', 'maxmemory', '0')
    await take(store, makeClaim('new'))
    expect(await store.inspect(['permits'])).toEqual([])
  })

  test('hands a lock on to the waiters from before', async () => {
    const server = await startServer()
    const store = openStore(server)
    const [holder, waiter] = [makeClaim('lock'), makeClaim('lock')]
    await take(store, holder)
    await store.attempt(waiter, QUEUE)
    await fill(server)
    expect((await store.attempt(waiter, QUEUE)).outcome).toBe('waiting')
    expect(await store.withdraw(holder)).toBe('released')
    expect(await store.attempt(waiter, QUEUE)).toMatchObject({
      outcome: 'granted',
      alreadyGranted: true,
    })
  })
})

test('a read-only replica says what to do', async () => {
  const server = await startServer({ config: [['repl-diskless-sync-delay', '0']] })
  const replica = await startServer({ config: [['replicaof', `127.0.0.1 ${server.port}`]] })
  const store: Store = openStore(replica)
  const error = await Promise.resolve(store.attempt(makeClaim('lock'), TRY)).catch(
    (caught: unknown) => caught,
  )
  expect(error).toMatchObject({ code: 'STORE_CONFIG', store: 'redis' })
  expect(String(error)).toMatch(/connect it to the primary/)
  await expect(store.inspect(['lock'])).resolves.toEqual([])
  // What a lease leaves behind that has ended is removed by the next verb, which is not
  // allowed here.
  await take(openStore(server), makeClaim('ended', { ttlMs: 1 }))
  await eventually(
    'it is there',
    async () => (await replica.command('EXISTS', 'hf:{ended}')) === ':1\r\n',
  )
  const look = async (): Promise<string> =>
    Promise.resolve(store.inspect(['ended'])).then(() => '', String)
  await eventually('it has ended', async () => (await look()).includes('connect it to the primary'))
})

test('a user without the right to run scripts learns what is missing', async () => {
  const server = await startServer()
  await server.command(
    'ACL',
    'SETUSER',
    'weak',
    'on',
    '>secret',
    '~*',
    '&*',
    '+@connection',
    '+info',
  )
  const store = openStore({ url: server.url.replace('redis://', 'redis://weak:secret@') })
  await expect(store.attempt(makeClaim('lock'), TRY)).rejects.toMatchObject({ code: 'STORE_AUTH' })
  await expect(store.attempt(makeClaim('lock'), TRY)).rejects.toThrow(/\+evalsha/)
  // With scripts, but not with what is in them.
  await server.command('ACL', 'SETUSER', 'weak', '+eval', '+evalsha', '+time')
  await expect(store.attempt(makeClaim('lock'), TRY)).rejects.toMatchObject({ code: 'STORE_AUTH' })
})

test('the rule of the ACL suffices for every verb', async () => {
  const server = await startServer()
  const [, version = ''] = /redis_version:(\S+)/.exec(await server.command('INFO', 'server')) ?? []
  await server.command(
    'ACL',
    'SETUSER',
    'locker',
    'on',
    '>pass',
    ...aclRule({ version }).split(' '),
  )
  const url = server.url.replace('redis://', 'redis://locker:pass@')
  for (const library of LIBRARIES) {
    const store = openStore({ url }, library)
    const shape = { kind: 'readWriteLock', weight: 1 } as const
    const [writer, reader, next] = [
      makeClaim('rw', { kind: 'readWriteLock' }),
      makeClaim('rw', shape),
      makeClaim('rw'),
    ]
    await take(store, writer)
    for (const waiter of [reader, next]) await store.attempt(waiter, QUEUE)
    let woken = false
    const watch = store.watch(reader, () => (woken = true))
    await watch.ready
    expect(await store.downgrade(writer)).toBe(true)
    await eventually('the reader is woken', () => woken)
    expect(await store.renew([writer, reader])).toEqual([
      { outcome: 'renewed' },
      { outcome: 'renewed' },
    ])
    expect((await inspectPage(store, { prefix: '', limit: 9 })).locks).toHaveLength(1)
    expect((await store.steal('rw', { now: true })).holders).toBe(2)
    await store.withdraw(next)
    // Enough that tombstones are trimmed, on the fast path and on the general one.
    for (let pair = 0; pair < 300; pair += 1) {
      const claim = makeClaim('rw', pair % 2 === 0 ? {} : shape)
      await take(store, claim)
      expect(await store.withdraw(claim)).toBe('released')
    }
    watch.close()
  }
  expect(await server.command('ACL', 'LOG')).toBe('*0\r\n')
})

test('clients that disagree on a lock get LOCK_MISMATCH', async () => {
  const server = await startServer()
  const store = openStore(server)
  await take(store, makeClaim('lock'))
  const other = makeClaim('lock', { kind: 'semaphore', capacity: 3 })
  await expect(store.attempt(other, TRY)).rejects.toBeInstanceOf(LockUsageError)
})
