/** Servers that stall, die, are cut off or are full, and settings that are wrong. */
import { spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Claim } from 'holdfast/store'
import { describe, expect, test } from 'vitest'
import { startEtcd, type EtcdOptions } from '@holdfast/servers/etcd'
import { makeFolder, removeFolder } from '@holdfast/servers/folders'
import {
  after,
  ask,
  fallSilent,
  leaveMinority,
  leavesNothing,
  keys,
  makeClaim,
  TRY,
  openLocks,
  openProxy,
  openStore,
  outlasting,
  QUEUE,
  renewed,
  isQuiet,
  waitsOnLonger,
} from './support/world.js'

async function start(options: EtcdOptions = {}) {
  const cluster = await startEtcd(options)
  after(() => cluster.stop())
  return cluster
}

const TIMEOUT = { timeout: 120_000 }

test(
  'a holder learns of the loss by its deadline when etcd falls silent, and keeps its lease until then',
  TIMEOUT,
  async () => {
    const { endpoints, members } = await start()
    await fallSilent(members[0], (settings) => openLocks({ endpoints }, settings))
  },
)

test(
  'a minority grants nothing, and its holder learns of the loss by the deadline',
  TIMEOUT,
  async () => {
    const { endpoints, members } = await start({ members: 3 })
    await leaveMinority({
      others: members.slice(1),
      openAlone: (settings) => openLocks({ endpoints: endpoints.slice(0, 1) }, settings),
      openAll: () => openLocks({ endpoints }),
    })
  },
)

test('the other members serve on when the one in use is killed', TIMEOUT, async () => {
  const cluster = await start({ members: 3 })
  const { endpoints } = cluster
  const locks = openLocks({ endpoints }, { ttlMs: 10_000 })
  const lease = await locks.mutex('failover').acquire()
  const waiting = openLocks({ endpoints }).mutex('failover').acquire({ waitMs: 20_000 })
  waiting.catch(() => undefined) // heard of below
  // A waiter outlives an election; a first attempt need not.
  await expect.poll(() => keys(endpoints[0] ?? '', 'holdfast/locks/failover/')).toHaveLength(2)
  // Clients begin with the first.
  await cluster.members[0]?.crash()
  await renewed(lease)
  expect(await lease.release()).toBe('released')
  expect((await waiting).held).toBe(true)
})

describe('a full database', () => {
  test('refuses new sessions and says what to do, while held locks live on', TIMEOUT, async () => {
    const { endpoints } = await start({ args: ['--quota-backend-bytes=100000'] })
    const [endpoint = ''] = endpoints
    const store = openStore({ endpoints })
    const held = makeClaim('held')
    await store.attempt(held, QUEUE)
    const value = Buffer.alloc(20_000).toString('base64')
    await expect(async () => {
      for (let key = 0; key < 1000; key += 1)
        await ask(endpoint, 'kv/put', { key: btoa(`k${key}`), value })
    }).rejects.toThrow('space')
    const alarms = async () =>
      (await ask<{ alarms?: unknown[] }>(endpoint, 'maintenance/alarm')).alarms ?? []
    await expect.poll(alarms).toHaveLength(1)
    const newcomer = openStore({ endpoints })
    await expect(newcomer.attempt(makeClaim('new'), QUEUE)).rejects.toThrow(/full.*alarm disarm/)
    const shown = { ...held, owner: { ...held.owner, label: 'shown' } }
    expect(await store.renew([shown])).toEqual([{ outcome: 'renewed' }])
    expect(await store.withdraw(held)).toBe('released')
  })
})

test('a TTL that etcd does not grant is an error, and is not changed', TIMEOUT, async () => {
  const { endpoints } = await start({
    args: ['--election-timeout=5000', '--heartbeat-interval=500'],
  })
  const store = openStore({ endpoints })
  await expect(store.attempt(makeClaim('lock', { ttlMs: 2000 }), QUEUE)).rejects.toMatchObject({
    code: 'STORE_CONFIG',
    message: expect.stringMatching(/no lease of 3 s.*ttlMs of at least/) as string,
  })
  expect(await store.attempt(makeClaim('lock', { ttlMs: 10_000 }), QUEUE)).toMatchObject({
    outcome: 'granted',
  })
})

test(
  'who has to wait does so on a longer session where etcd grants no shorter one',
  TIMEOUT,
  async () => {
    const { endpoints } = await start({
      args: ['--election-timeout=5000', '--heartbeat-interval=500'],
    })
    await waitsOnLonger(openStore({ endpoints }), openStore({ endpoints }))
  },
)

describe('credentials', () => {
  const credentials = { user: 'locks', password: 'secret' }

  test('are needed, must be right, and are renewed by themselves', TIMEOUT, async () => {
    const { endpoints } = await start({ args: ['--auth-token-ttl=1'] })
    const [endpoint = ''] = endpoints
    etcdctl(endpoint, 'user', 'add', 'stranger:secret')
    enableUsers(endpoint)
    const attempt = async (credentials?: { user: string; password: string }) =>
      openStore({ endpoints, ...(credentials ? { credentials } : {}) }).attempt(
        makeClaim('lock'),
        QUEUE,
      )
    const refused = { code: 'STORE_AUTH' }
    await expect(attempt()).rejects.toMatchObject(refused)
    await expect(attempt({ user: 'locks', password: 'wrong' })).rejects.toMatchObject(refused)
    await expect(attempt({ user: 'stranger', password: 'secret' })).rejects.toMatchObject(refused)
    const one = openStore({ endpoints, credentials })
    const [holder, waiter] = [makeClaim('auth'), makeClaim('auth')]
    expect(await one.attempt(holder, QUEUE)).toMatchObject({ outcome: 'granted' })
    // etcd forgets the login after a second without use.
    await new Promise((resolve) => setTimeout(resolve, 2500))
    const two = openStore({ endpoints, credentials })
    expect(await two.attempt(waiter, QUEUE)).toMatchObject({ outcome: 'waiting' })
    const woken: unknown[] = []
    two.watch(waiter, (grant) => woken.push(grant))
    expect(await one.withdraw(holder)).toBe('released')
    await expect.poll(() => woken).toHaveLength(1)
  })

  test('that change after a success are an outage, and a waiter waits on', TIMEOUT, async () => {
    const { endpoints } = await start()
    const [endpoint = ''] = endpoints
    enableUsers(endpoint)
    const words = ['--user=root:secret', 'user', 'passwd', 'locks', '--interactive=false']
    const change = (password: string): void => runEtcdctl(endpoint, words, `${password}\n`)
    const [one, two] = [1, 2].map(() => openLocks({ endpoints, credentials }, { ttlMs: 20_000 }))
    const held = await one?.mutex('rotated').acquire()
    const waiting = two?.mutex('rotated').acquire({ waitMs: 60_000 })
    await expect.poll(async () => (await one?.mutex('rotated').inspect())?.waiters.length).toBe(1)
    change('another')
    await expect(two?.mutex('other').tryAcquire()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('password') as string,
    })
    change(credentials.password)
    expect(await held?.release()).toBe('released')
    await (await waiting)?.release()
  })

  test(
    'of tokens that end with any change of users are renewed by themselves',
    TIMEOUT,
    async () => {
      const { endpoints } = await start({ args: [`--auth-token=${jwt()}`] })
      const [endpoint = ''] = endpoints
      enableUsers(endpoint)
      const store = openStore({ endpoints, credentials })
      const held = makeClaim('jwt')
      expect(await store.attempt(held, QUEUE)).toMatchObject({ outcome: 'granted' })
      etcdctl(endpoint, '--user=root:secret', 'user', 'add', 'newcomer:secret')
      expect(await store.renew([held])).toEqual([{ outcome: 'renewed' }])
      etcdctl(endpoint, '--user=root:secret', 'user', 'delete', 'newcomer')
      const others = Array.from({ length: 5 }, (_, index) => makeClaim(`jwt-${index}`))
      for (const { outcome } of await Promise.all(
        others.map(async (one) => store.attempt(one, QUEUE)),
      )) {
        expect(outcome).toBe('granted')
      }
      expect(await store.withdraw(held)).toBe('released')
    },
  )

  test(
    'of tokens that have ended do not keep waiters from learning of the loss',
    TIMEOUT,
    async () => {
      const cluster = await start({ args: [`--auth-token=${jwt()}`] })
      const [endpoint = ''] = cluster.endpoints
      enableUsers(endpoint)
      const { proxy, endpoints } = await openProxy(endpoint)
      const [one, two] = [
        openStore({ endpoints: [endpoint], credentials }),
        openStore({ endpoints, credentials }),
      ]
      const woken: string[] = []
      const wait = async (lock: string): Promise<Claim> => {
        const [holder, waiter] = [makeClaim(lock), makeClaim(lock)]
        await one.attempt(holder, QUEUE)
        expect(await two.attempt(waiter, QUEUE)).toMatchObject({ outcome: 'waiting' })
        two.watch(waiter, () => woken.push(lock))
        // The stream is open, and no request is in flight.
        await expect.poll(() => isQuiet(() => proxy.packets)).toBe(true)
        return holder
      }
      const first = await wait('told-1')
      etcdctl(endpoint, '--user=root:secret', 'user', 'add', 'newcomer:secret')
      // On the stream of the first one etcd refuses it by now.
      const second = await wait('told-2')
      for (const holder of [second, first]) expect(await one.withdraw(holder)).toBe('released')
      await expect.poll(() => woken.toSorted()).toEqual(['told-1', 'told-2'])
    },
  )

  test('with rights below a prefix alone use a store with that prefix', TIMEOUT, async () => {
    const { endpoints } = await start()
    enableUsers(endpoints[0] ?? '', 'team/')
    const locks = openLocks({ endpoints, credentials, prefix: 'team' }, { ttlMs: 10_000 })
    const mutex = locks.mutex('shared')
    const lease = await mutex.acquire()
    expect((await mutex.inspect())?.holders).toHaveLength(1)
    const handle = await lease.export()
    const adopted = await mutex.adopt(handle)
    await adopted.renew()
    expect(await locks.steal('shared', { now: true })).toMatchObject({ holders: 1 })
    for (const [prefix, shown] of [
      [undefined, '"holdfast/"'],
      ['shop', '"shop/"'],
    ] as const) {
      const options = { endpoints, credentials, ...(prefix === undefined ? {} : { prefix }) }
      const refused = openLocks(options).mutex('shared').tryAcquire()
      await expect(refused).rejects.toMatchObject({
        code: 'STORE_AUTH',
        message: expect.stringContaining(`keys that begin with ${shown}`) as string,
      })
    }
  })

  test('are not accepted where etcd has no users', TIMEOUT, async () => {
    const { endpoints } = await start()
    const store = openStore({ endpoints, credentials })
    await expect(store.attempt(makeClaim('lock'), QUEUE)).rejects.toMatchObject({
      code: 'STORE_AUTH',
    })
  })
})

/** Authentication, with a user for locks and one for everything. */
function enableUsers(endpoint: string, folder = 'holdfast/'): void {
  etcdctl(endpoint, 'user', 'add', 'root:secret')
  etcdctl(endpoint, 'user', 'grant-role', 'root', 'root')
  etcdctl(endpoint, 'user', 'add', 'locks:secret')
  etcdctl(endpoint, 'role', 'add', 'locks')
  etcdctl(endpoint, 'role', 'grant-permission', 'locks', '--prefix=true', 'readwrite', folder)
  etcdctl(endpoint, 'user', 'grant-role', 'locks', 'locks')
  etcdctl(endpoint, 'auth', 'enable')
}

/** Returns the option by which etcd signs its tokens instead of remembering them. */
function jwt(): string {
  const folder = makeFolder('jwt')
  after(async () => removeFolder(folder))
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const [publicFile, privateFile] = [join(folder, 'public.pem'), join(folder, 'private.pem')]
  writeFileSync(publicFile, publicKey)
  writeFileSync(privateFile, privateKey)
  return `jwt,pub-key=${publicFile},priv-key=${privateFile},sign-method=RS256,ttl=5m`
}

function etcdctl(endpoint: string, ...args: string[]): void {
  runEtcdctl(endpoint, args)
}

/** @param input what the command reads */
function runEtcdctl(endpoint: string, args: readonly string[], input?: string): void {
  const env = { ...process.env, ETCDCTL_API: '3' }
  const words = [`--endpoints=${endpoint}`, ...args]
  const { status, stderr } = spawnSync('etcdctl', words, { env, input })
  if (status !== 0) throw new Error(String(stderr))
}

test(
  'an attempt without an answer, given up without an answer, leaves nothing behind',
  TIMEOUT,
  async () => {
    const [endpoint = ''] = (await start()).endpoints
    const { proxy, endpoints } = await openProxy(endpoint)
    const [one, two] = [openStore({ endpoints }), openStore({ endpoints: [endpoint] })]
    await leavesNothing(proxy, one, two)
  },
)

test(
  'a request that was not answered makes no entry later on, when the lock was busy meanwhile',
  TIMEOUT,
  async () => {
    const [endpoint = ''] = (await start()).endpoints
    const slow = await openProxy(endpoint)
    const store = openStore({ endpoints: [...slow.endpoints, endpoint] })
    const [first, holder, late] = [outlasting('late'), outlasting('late'), outlasting('late')]
    // The session is there.
    await store.attempt(first, QUEUE)
    await store.withdraw(first)
    const other = openStore({ endpoints: [endpoint] })
    await other.attempt(holder, QUEUE)
    // An answer that comes meanwhile: a connection that brings nothing at all is given up, with all
    // that travels on it.
    slow.proxy.faults.replyMs = 1000
    const { packets } = slow.proxy
    const inspected = store.inspect(['free'])
    await expect.poll(() => slow.proxy.packets).toBeGreaterThan(packets)
    // Longer than a request waits for its answer.
    slow.proxy.faults.requestMs = 8000
    const before = slow.proxy.packets
    const attempt = Promise.resolve(store.attempt(late, TRY))
    await expect.poll(() => slow.proxy.packets).toBeGreaterThan(before)
    // It is not called back.
    slow.proxy.faults.dropRequests = true
    expect(await attempt).toMatchObject({ outcome: 'busy' })
    await inspected
    expect(await other.withdraw(holder)).toBe('released')
    slow.proxy.faults.dropRequests = false
    // What comes after it on the same way has arrived.
    await ask(slow.endpoints[0] ?? '', 'maintenance/status')
    await expect.poll(() => isQuiet(() => slow.proxy.packets)).toBe(true)
    expect(await keys(endpoint, 'holdfast/locks/late/')).toEqual([])
    expect(await other.attempt(outlasting('late'), TRY)).toMatchObject({ outcome: 'granted' })
  },
)
