/**
 * The simple mode where the server deletes a key only if it holds a value. The server here is too old for that, so a script
 * stands in for the command, and the answer to COMMAND INFO is made up: what is tried is the store's side, with the names
 * and arguments that the documentation of Redis 8.4 and Valkey 9 gives. No such server was at hand.
 */
import { redisStore, type IoRedisClient } from 'holdfast/redis'
import type { Store } from 'holdfast/store'
import { Redis } from 'ioredis6'
import { expect, test } from 'vitest'
import { after, closing, connectTo, makeClaim, startServer } from './support/world.js'

const TRY = { enqueue: false, tokens: 1 }
const SCRIPT = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"

type Name = 'DELEX' | 'DELIFEQ'
type Call = (name: string, ...args: string[]) => Promise<unknown>

interface Emulation {
  readonly client: IoRedisClient
  /** Every command that the store sent over connections of its own. */
  readonly sent: string[][]
}

/** A client whose own connections reach a server with this command, which the user may use or not. */
function emulate(inner: IoRedisClient, name: Name, isAllowed = true): Emulation {
  const sent: string[][] = []
  const emulated =
    (call: Call): Call =>
    (command, ...args) => {
      sent.push([command, ...args])
      if (command === 'COMMAND') {
        return Promise.resolve(args.slice(1).map((one) => (one === name ? [one.toLowerCase(), 4] : null)))
      }
      if (command !== name) return call(command, ...args)
      if (!isAllowed)
        return Promise.reject(new Error(`NOPERM this user has no permissions to run the '${name}' command`))
      const [key = '', first = '', second = ''] = args
      if (name === 'DELEX') expect(first).toBe('IFEQ')
      return call('EVAL', SCRIPT, '1', key, name === 'DELEX' ? second : first)
    }
  const client = new Proxy(inner, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target)
      if (property !== 'duplicate')
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      return (override: Parameters<IoRedisClient['duplicate']>[0]) => {
        const own = target.duplicate(override)
        return new Proxy(own, {
          get(connection, name) {
            const its: unknown = Reflect.get(connection, name, connection)
            if (name === 'call') return emulated(connection.call.bind(connection))
            return typeof its === 'function' ? (its.bind(connection) as unknown) : its
          },
        })
      }
    },
  })
  return { client, sent }
}

async function open(name: Name, isAllowed = true): Promise<{ store: Store; sent: string[][] }> {
  const server = await startServer()
  const redis = new Redis(server.url)
  after(() => redis.disconnect())
  const { client, sent } = emulate(redis, name, isAllowed)
  return { store: closing(redisStore({ client, mode: 'simple' })), sent }
}

function commands(sent: readonly string[][]): string[] {
  return sent.map(([name = '']) => name)
}

test.each(['DELEX', 'DELIFEQ'] as const)(
  'a release is one of %s, and watches nothing that others use',
  async (name) => {
    const { store, sent } = await open(name)
    const claim = makeClaim('a')
    expect((await store.attempt(claim, TRY)).outcome).toBe('granted')
    sent.splice(0)
    expect(await store.withdraw(claim)).toBe('released')
    expect(commands(sent)).toContain(name)
    expect(commands(sent)).not.toContain('DEL')
    expect(sent.find(([command]) => command === 'WATCH')).toEqual(['WATCH', `hf:{a}:x:${claim.id}`])
    expect(await store.withdraw(claim)).toBe('released')
    expect((await store.attempt(claim, TRY)).outcome).toBe('withdrawn')
    const next = makeClaim('a')
    expect((await store.attempt(next, TRY)).outcome).toBe('granted')
    // Who holds nothing releases nothing.
    expect(await store.withdraw(makeClaim('a'))).toBe('absent')
    expect(await store.renew([next])).toEqual([{ outcome: 'renewed' }])
  },
)

test('a lease that ended in between is not released, and the next one is left alone', async () => {
  const { store, sent } = await open('DELEX')
  const [stale, next] = [makeClaim('a', { ttlMs: 300 }), makeClaim('a')]
  await store.attempt(stale, TRY)
  await expect.poll(async () => (await store.attempt(next, TRY)).outcome, { interval: 20 }).toBe('granted')
  sent.splice(0)
  expect(await store.withdraw(stale)).toBe('absent')
  expect(await store.renew([next])).toEqual([{ outcome: 'renewed' }])
})

test('a user who may not use the command has the way of older servers', async () => {
  const { store, sent } = await open('DELEX', false)
  const claim = makeClaim('a')
  await store.attempt(claim, TRY)
  sent.splice(0)
  expect(await store.withdraw(claim)).toBe('released')
  expect(commands(sent)).toContain('DEL')
})

test('a server that has neither is used as it is', async () => {
  const server = await startServer()
  const store = closing(redisStore({ client: connectTo(server.url, 'ioredis6'), mode: 'simple' }))
  const claim = makeClaim('a')
  await store.attempt(claim, TRY)
  expect(await store.withdraw(claim)).toBe('released')
  expect(await server.command('INFO', 'commandstats')).toMatch(/cmdstat_command\|info:calls=[1-9]/)
  expect(await server.command('INFO', 'commandstats')).toMatch(/cmdstat_del:calls=1,/)
})
