/**
 * `holdfast doctor` over Redis: what it finds, and that the rule which it prints is enough and not
 * too much.
 */
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { redisStore } from 'holdfast/redis'
import { Redis as IoRedis5 } from 'ioredis5'
import { Redis as IoRedis6 } from 'ioredis6'
import { createClient } from 'redis6'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startRedis, type RedisServer, type RedisServerOptions } from '@holdfast/servers/redis'
import { exerciseRights } from '../../../dist/cli/doctor/redis-rights.js'
import { Box } from '../support/holdfast.js'

const IOREDIS = fileURLToPath(new URL('../../../../../node_modules/ioredis6', import.meta.url))

interface Finding {
  readonly check: string
  readonly verdict: string
  readonly text: string
}

let servers: RedisServer[]
let box: Box

beforeEach(() => {
  servers = []
  box = new Box()
  mkdirSync(box.file('node_modules'))
  symlinkSync(IOREDIS, join(box.file('node_modules'), 'ioredis'))
})

afterEach(() => Promise.all(servers.map((server) => server.stop())))

async function start(options: RedisServerOptions = {}): Promise<RedisServer> {
  const server = await startRedis(options)
  servers.push(server)
  return server
}

async function doctor(url: string, ...args: string[]) {
  const run = box.holdfast(['doctor', '--store', url, ...args, '--json'], {
    env: { HOLDFAST_MODULES: box.folder },
  })
  const code = await run.code()
  const { checks = [] } = JSON.parse(run.stdout) as { checks?: Finding[] }
  const verdictOf = (check: string) => checks.find((one) => one.check === check)
  return { code, checks, verdictOf, stdout: run.stdout }
}

it('does not advise itself where an endpoint over HTTP is away', async () => {
  const doctor = box.holdfast(['doctor', '--store', 'https://:token@127.0.0.1:1', '--json'])
  expect(await doctor.code()).toBe(69)
  const { checks } = JSON.parse(doctor.stdout) as { readonly checks: readonly Finding[] }
  const failed = checks.find(({ verdict }) => verdict === 'failure')
  expect(failed?.text).toMatch(/Check that the server runs and that this machine reaches it\.$/)
})

describe('what doctor finds', () => {
  it('a sound server', async () => {
    const server = await start({ appendOnly: true })
    const { code, checks, verdictOf } = await doctor(server.url)
    expect(checks.filter(({ verdict }) => verdict !== 'ok')).toEqual([])
    expect(code).toBe(0)
    expect(verdictOf('server')?.text).toMatch(
      /^(?:redis|valkey) \d+\.\d+\.\d+, standalone, master, answered in/,
    )
    expect(verdictOf('memory')?.text).toBe('maxmemory-policy noeviction, no limit')
    expect(verdictOf('persistence')?.text).toBe('append-only file, fsync always')
    expect(verdictOf('server time')?.text).toMatch(/^\d+\.\d ms (behind|ahead of) this machine/)
    expect(await server.command('DBSIZE')).not.toBe(':0\r\n')
  })

  it('a server that evicts keys, keeps nothing, and has keys of another program', async () => {
    const server = await start({
      config: [
        ['maxmemory', '64mb'],
        ['maxmemory-policy', 'volatile-lru'],
      ],
    })
    await server.command('LPUSH', 'hf:{mine}', 'x')
    await server.command('SET', 'hf:{text}', 'x')
    await server.command('SET', 'elsewhere', 'x')
    const { code, verdictOf } = await doctor(server.url)
    expect(code).toBe(0)
    expect(verdictOf('memory')).toMatchObject({
      verdict: 'warning',
      text: expect.stringContaining('set noeviction') as string,
    })
    expect(verdictOf('persistence')).toMatchObject({
      verdict: 'warning',
      text: expect.stringContaining('nothing is kept') as string,
    })
    const { verdict, text } = verdictOf('keys') as Finding
    expect(verdict).toBe('warning')
    expect(text).toContain('"hf:{mine}"')
    expect(text).toContain('"hf:{text}"')
    expect(text).not.toContain('elsewhere')
  })

  it('a replica, and who follows', async () => {
    const primary = await start({ config: [['repl-diskless-sync-delay', '0']] })
    const replica = await start({ config: [['replicaof', `${primary.host} ${primary.port}`]] })
    await expect
      .poll(() => replica.command('INFO', 'replication'), { timeout: 15_000 })
      .toContain('master_link_status:up')
    const { code, verdictOf } = await doctor(replica.url)
    expect(code).toBe(78)
    expect(verdictOf('server')).toMatchObject({
      verdict: 'failure',
      text: expect.stringContaining('connect to its primary') as string,
    })
    expect((await doctor(primary.url)).verdictOf('replicas')?.text).toMatch(/^1 follow/)
  })

  it('servers of Redlock, each by its name', async () => {
    const nodes = [await start(), await start(), await start()]
    const hosts = nodes.map(({ host, port }) => `${host}:${port}`)
    const { code, checks } = await doctor(`redlock://${hosts.join()}`)
    expect(code).toBe(0)
    const reported = checks
      .filter(({ check }) => check === 'server')
      .map(({ text }) => text.split(': ')[0])
    expect(reported).toEqual(hosts)
  })

  it('a server that is not there, and a password that is wrong', async () => {
    expect((await doctor('redis://127.0.0.1:1')).code).toBe(69)
    const server = await start({ password: 'open-sesame' })
    const { code, stdout } = await doctor(server.url.replace('open-sesame', 'wrong-password'))
    expect(code).toBe(77)
    expect(stdout).not.toMatch(/wrong-password|open-sesame/)
  })
})

async function printed(server: RedisServer): Promise<string> {
  const run = box.holdfast(['doctor', '--print-acl', '--store', server.url], {
    env: { HOLDFAST_MODULES: box.folder },
  })
  expect(await run.code(), run.stderr).toBe(0)
  const [, rule = ''] = /^ACL SETUSER holdfast on >PASSWORD (.+)\n$/.exec(run.stdout) ?? []
  return rule
}

describe('the rule of --print-acl', () => {
  const name = 'holdfast'
  const password = 'secret'

  async function allow(server: RedisServer, rule: string): Promise<string> {
    await server.command('ACL', 'SETUSER', name, 'reset', 'on', `>${password}`, ...rule.split(' '))
    return server.url.replace('redis://', `redis://${name}:${password}@`)
  }

  it('is enough for the store with each library, and for a command', async () => {
    const server = await start()
    const url = await allow(server, await printed(server))
    const named = { connectionName: 'mine' }
    for (const client of [new IoRedis5(url, named), new IoRedis6(url, named)]) {
      const store = redisStore({ client })
      await exerciseRights(store)
      await store.close()
      client.disconnect()
    }
    const client = createClient({ url, name: 'mine' })
    client.on('error', () => undefined)
    await client.connect()
    const store = redisStore({ client })
    await exerciseRights(store)
    await store.close()
    client.destroy()
    const run = box.holdfast(['run', 'job', '--store', url, '--', 'true'], {
      env: { HOLDFAST_MODULES: box.folder },
    })
    expect(await run.code()).toBe(0)
    expect(run.stderr).toBe('')
    const { code, verdictOf } = await doctor(url)
    expect(code).toBe(0)
    expect(verdictOf('rights')?.text).toMatch(/may not look at everything: CONFIG GET/)
  })

  it('has nothing that is not needed', async () => {
    const server = await start()
    const parts = (await printed(server)).split(' ')
    const needed = parts.filter(
      (part) => /^[+~&]/.test(part) && !/\+(info|client.*|time)$/.test(part),
    )
    expect(needed.length).toBeGreaterThan(15)
    const spare: string[] = []
    for (const part of needed) {
      const url = await allow(server, parts.filter((one) => one !== part).join(' '))
      await server.command('SCRIPT', 'FLUSH')
      const client = new IoRedis6(url, { maxRetriesPerRequest: 0 })
      client.on('error', () => undefined)
      const store = redisStore({ client, requestTimeoutMs: 2000 })
      await exerciseRights(store, 500).then(
        () => spare.push(part),
        () => undefined,
      )
      await store.close()
      client.disconnect()
    }
    expect(spare).toEqual([])
  })

  it('is for Redis', async () => {
    const run = box.holdfast(['doctor', '--print-acl'])
    expect(await run.code()).toBe(64)
    expect(run.stderr).toContain('is for Redis')
  })
})
