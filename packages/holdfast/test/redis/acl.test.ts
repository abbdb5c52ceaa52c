/**
 * The rule of the ACL, as far as it depends on the version and on the scripts; the rest is tried on
 * servers.
 */
import { LockUsageError } from 'holdfast'
import { aclRule } from '../../dist/stores/redis/rule/acl.js'
import { diagnose } from '../../dist/stores/redis/diagnose.js'
import { redisStore, type IoRedisClient } from 'holdfast/redis'
import { Redis } from 'ioredis6'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import { SCRIPT_COMMANDS } from '../../dist/stores/redis/rule/acl.js'
import { admin, applyBatch } from '../../dist/stores/redis/rule/scripts.generated.js'

describe('the rule', () => {
  it('allows what the scripts call, and nothing else', () => {
    const called = new Set<string>()
    // Commands stand in capitals in quotes; what is published is distinguished by the rule itself.
    for (const { source } of [applyBatch, admin]) {
      for (const [, name = ''] of source.matchAll(/'([A-Z]{3,})'/g)) called.add(name.toLowerCase())
    }
    // Words that are no commands: options, and an error.
    for (const other of ['nx', 'px', 'keepttl', 'oom', 'publish', 'spublish']) called.delete(other)
    expect([...called].sort()).toEqual([...SCRIPT_COMMANDS].sort())
  })

  it('has channels since 6.2', () => {
    expect(aclRule({ version: '6.0.16' })).not.toContain('&')
    expect(aclRule({ version: '6.0.16' })).not.toContain('resetchannels')
    expect(aclRule({ version: '6.2.0', prefix: 'shop' })).toMatch(
      /~shop:\* resetchannels &shop:\* -@all/,
    )
    expect(aclRule({ version: '7.0.15' })).not.toContain('setinfo')
    for (const version of ['7.2.4', '8.0.6'])
      expect(aclRule({ version })).toContain('+client|setinfo ')
    expect(aclRule({ version: '7.0.15', cluster: true })).toMatch(/\+spublish \+ssubscribe/)
  })

  it('has a database where it is not the first', () => {
    expect(aclRule({ version: '7.0.15', database: 3 })).toContain(' +select ')
    expect(aclRule({ version: '7.0.15', database: 0 })).not.toContain('select')
  })

  it.each(['', '*', 'a b', 'hf:* ~*', 'a{b}', 'x'.repeat(65), 7])(
    'has no place for the prefix "%s"',
    (prefix) => {
      expect(() => aclRule({ version: '7.0.15', prefix: prefix as string })).toThrow(LockUsageError)
    },
  )

  it.each([
    { version: '7.0.15', mode: 'simple' },
    { version: '7.0.15', clusters: true },
    {},
    undefined,
  ])('refuses the needs %j', (needs) => {
    expect(() => aclRule(needs as never)).toThrow(LockUsageError)
  })

  it.each(['5.0.14', 'unknown'])('cannot be written for version %s', (version) => {
    expect(() => aclRule({ version })).toThrow('has no ACL')
  })
})

describe('the diagnosis', () => {
  let server: RedisServer
  let redis: Redis

  beforeAll(async () => {
    server = await startRedis({ config: [['repl-diskless-sync-delay', '0']] })
    redis = new Redis(server.url)
  })

  afterAll(async () => {
    redis.disconnect()
    await server.stop()
  })

  it('finds keys of another program, and inspecting one reports it', async () => {
    await redis.set('hf:{text}', 'x')
    await redis.lpush('hf:{list}', 'x')
    // As they are on the server: escaped.
    await redis.set('hf:{50%25}', 'x')
    const { foreignKeys } = await diagnose({ client: redis })
    expect(foreignKeys.toSorted()).toEqual(['hf:{50%25}', 'hf:{list}', 'hf:{text}'])
    const store = redisStore({ client: redis })
    for (const lock of ['text', 'list']) {
      await expect(store.inspect([lock])).rejects.toMatchObject({ code: 'STORE_CONFIG' })
      await expect(store.steal(lock, { now: true })).rejects.toMatchObject({ code: 'STORE_CONFIG' })
    }
    await store.close()
  })

  it('finds them behind a prefix of the client that has braces', async () => {
    const prefixed = new Redis(server.url, { keyPrefix: '{app}:' })
    await redis.set('{app}:hf:{text}', 'x')
    expect((await diagnose({ client: prefixed })).foreignKeys).toEqual(['{app}:hf:{text}'])
    prefixed.disconnect()
  })

  it('of a replica says that it is one, also when a lease on it has ended', async () => {
    const store = redisStore({ client: redis, prefix: 'ended' })
    const owner = { clientId: 'test', host: 'test', pid: 1 }
    const terms = {
      kind: 'mutex',
      capacity: 1,
      weight: 1,
      ttlMs: 1,
      heartbeatMs: 1000,
      owner,
    } as const
    await store.attempt({ lock: 'lock', id: 'claim', ...terms }, { enqueue: false, tokens: 1 })
    await store.close()
    const replica = await startRedis({ config: [['replicaof', `127.0.0.1 ${server.port}`]] })
    const client = new Redis(replica.url)
    await expect.poll(() => client.exists('ended:{lock}'), { timeout: 10_000 }).toBe(1)
    expect(await diagnose({ client, prefix: 'ended' })).toMatchObject({
      role: 'slave',
      foreignKeys: [],
    })
    client.disconnect()
    await replica.stop()
  })

  it('compares the clocks', async () => {
    expect(Math.abs((await diagnose({ client: redis })).clockOffsetMs)).toBeLessThan(500)
    const { clockOffsetMs } = await diagnose({ client: withClockAhead(redis, 5000) })
    expect(clockOffsetMs).toBeGreaterThan(4500)
    expect(clockOffsetMs).toBeLessThan(5500)
  })
})

/** The client of a server whose clock is wrong. */
function withClockAhead(inner: Redis, byMs: number): IoRedisClient {
  return new Proxy<IoRedisClient>(inner, {
    get(target, name) {
      if (name !== 'call') {
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      }
      return async (command: string, ...args: string[]) => {
        const reply = await target.call(command, ...args)
        if (command !== 'TIME' || !Array.isArray(reply)) return reply
        return [String(Number(reply[0]) + byMs / 1000), reply[1] as unknown]
      }
    },
  })
}
