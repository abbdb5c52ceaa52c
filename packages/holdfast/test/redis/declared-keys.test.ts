/** The keys that a script call declares, beside those that the scripts touch as MONITOR shows. */
import { connect } from 'node:net'
import { createLocks, type Lease } from 'holdfast'
import { fencedWrite } from 'holdfast/fence'
import { redisStore, type RedisClient } from 'holdfast/redis'
import { afterAll, expect, test } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import { after, connectTo, makeClaim, QUEUE, take, TRY } from './support/world.js'

const server = await startRedis()
afterAll(() => server.stop())

test('with declareKeys each call declares all keys that its script touches', async () => {
  const without = await undeclaredIn(() => useEverything({}))
  console.log(`without declareKeys: ${without.size} kinds of undeclared touch`)
  expect(without.size).toBeGreaterThan(10)
  expect([...(await undeclaredIn(() => useEverything({ declareKeys: true })))]).toEqual([])
})

test('a server that refuses undeclared keys gets them from the first refusal on', async () => {
  const { client, calls } = refusing()
  const store = redisStore({ client, prefix: 'refused' })
  after(() => store.close())
  const claim = makeClaim('a')
  expect(await store.attempt(claim, TRY)).toMatchObject({ outcome: 'granted' })
  expect(await store.withdraw(claim)).toBe('released')
  expect(await store.attempt(makeClaim('a'), TRY)).toMatchObject({ outcome: 'granted' })
  expect(calls.map(({ keys }) => keys)).toEqual([1, 5, 5, 5])
})

test('fencedWrite declares the keys it is given, or asks the server for them', async () => {
  const lease = { name: 'lock', token: 1n, claimId: 'owner', exclusive: true } as unknown as Lease
  const { client, calls } = refusing()
  const write = [['SET', 'stock:9', '41'], ['PING']] as const
  const keys = ['stock:9']
  expect(await fencedWrite(client, lease, 'given', write, { keys })).toEqual(['OK', 'PONG'])
  expect(await fencedWrite(client, lease, 'asked', write)).toEqual(['OK', 'PONG'])
  expect(calls.map(({ keys }) => keys)).toEqual([3, 2, 3])
  const wrong = fencedWrite(client, lease, 'given', write, { keys: 'stock:9' as never })
  await expect(wrong).rejects.toThrow('keys as a list of text')
})

/** All verbs, kinds of lock and paths of the scripts. */
async function useEverything(options: { readonly declareKeys?: boolean }): Promise<void> {
  const [one, other] = [server.url, server.url].map((url) =>
    createLocks(redisStore({ client: connectTo(url, 'ioredis6'), ...options })),
  )
  if (!one || !other) throw new Error('two clients')
  const mutex = await one.mutex('mutex').acquire({ ttlMs: 300 })
  const waiting = other.mutex('mutex').acquire({ ttlMs: 300 })
  await eventually('it waits', async () => (await one.mutex('mutex').inspect()).waiters.length > 0)
  await one.mutex('mutex').tryAcquire()
  await mutex.release()
  await (await waiting).release()
  const writer = await one.readWriteLock('both').write.acquire()
  await writer.downgrade()
  const reader = await other.readWriteLock('both').read.acquire()
  await reader.release()
  await one.steal('both', { reason: 'a test', now: true })
  const permits = await one.semaphore('some', { permits: 3 }).acquire({ weight: 2 })
  const handle = await permits.export()
  await (await other.semaphore('some', { permits: 3 }).adopt(handle)).release()
  await useStore(options)
  await one.close()
  await other.close()
}

async function useStore(options: { readonly declareKeys?: boolean }): Promise<void> {
  const store = redisStore({ client: connectTo(server.url, 'redis6'), ...options })
  const claims = Array.from({ length: 4 }, () => makeClaim('many', { ttlMs: 500 }))
  const [first, ...others] = claims as [(typeof claims)[0], ...typeof claims]
  await take(store, first)
  for (const claim of others) await store.attempt(claim, QUEUE)
  await Promise.all(others.map(async (claim) => store.attempt(claim, QUEUE)))
  await store.renew([first])
  for (const claim of claims) await store.withdraw(claim)
  for (const claim of claims) await store.withdraw(claim)
  await store.close()
}

/** Returns each script command with the kind of key that its call did not declare. */
async function undeclaredIn(work: () => Promise<void>): Promise<Set<string>> {
  const lines = await monitored(server, work)
  const found = new Set<string>()
  let declared = new Set<string>()
  for (const line of lines) {
    const [, from = '', text = ''] = /^\+[\d.]+ \[\d+ (\S+)\] (.*)$/.exec(line) ?? []
    const words = Array.from(text.matchAll(/"((?:[^"\\]|\\.)*)"/g), ([, word = '']) => word)
    const [name = '', , count] = words
    if (from !== 'lua') {
      if (/^eval/i.test(name)) declared = new Set(words.slice(3, 3 + Number(count)))
    } else {
      const key = words.find((word) => word.startsWith('hf:{'))
      const isKey = key !== undefined && !/^s?publish$/i.test(name)
      if (isKey && !declared.has(key)) found.add(`${name} ${key.replace(/^.*\}/, '')}`)
    }
  }
  return found
}

async function monitored({ port }: RedisServer, work: () => Promise<void>): Promise<string[]> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString('latin1')))
  socket.write('MONITOR\r\n')
  await eventually('it listens', () => text.startsWith('+OK'))
  await work()
  await server.command('SET', 'the-end', '1')
  await eventually('all was seen', () => text.includes('the-end'))
  socket.destroy()
  return text.split('\r\n').slice(1)
}

/** A client whose server wants four helper keys for each lock, and one key for `SET`. */
function refusing(): { client: RedisClient; calls: { readonly keys: number }[] } {
  const client = connectTo(server.url, 'ioredis6') as unknown as { call: Call }
  const call = client.call.bind(client)
  const calls: { readonly keys: number }[] = []
  client.call = async (name, ...args) => {
    if (!/^eval/i.test(name)) return call(name, ...args)
    const keys = Number(args[1])
    const reply = await call(name, ...args)
    calls.push({ keys })
    const isFence = args[2]?.startsWith('hf:fence') === true
    const refusal = 'ERR script tried accessing undeclared key, key=x'
    if (isFence) return keys > 2 ? reply : `1 ${refusal}`
    if (keys < 5) throw new Error(refusal)
    return reply
  }
  return { client: client as unknown as RedisClient, calls }
}

type Call = (name: string, ...args: string[]) => Promise<unknown>
