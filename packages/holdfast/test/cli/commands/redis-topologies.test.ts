/** The command line over Sentinels and over a Cluster, with either client library. */
import { mkdirSync, symlinkSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { redisStore } from 'holdfast/redis'
import { Cluster } from 'ioredis6'
import { createCluster } from 'redis6'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startCluster, type RedisCluster } from '@holdfast/servers/redis-cluster'
import { startSentinels, type SentinelGroup } from '@holdfast/servers/redis-sentinel'
import { exerciseRights } from '../../../dist/cli/doctor/redis-rights.js'
import { Box, type Inspected } from '../support/holdfast.js'
import type { Program, ProgramOptions } from '../support/program.js'

const MODULES = fileURLToPath(new URL('../../../../../node_modules/', import.meta.url))
const LIBRARIES = ['ioredis', 'redis'] as const

let group: SentinelGroup
let cluster: RedisCluster

beforeAll(async () => {
  group = await startSentinels()
  cluster = await startCluster()
})

afterAll(async () => {
  await group.stop()
  await cluster.stop()
})

class Project extends Box {
  readonly url: string

  constructor(name: (typeof LIBRARIES)[number], url: string) {
    super()
    this.url = url
    mkdirSync(this.file('node_modules'))
    symlinkSync(`${MODULES}${name}6`, this.file(`node_modules/${name}`))
  }

  override holdfast(args: readonly string[], options: ProgramOptions = {}): Program {
    const env = { HOLDFAST_STORE: this.url, HOLDFAST_MODULES: this.folder }
    return super.holdfast(args, { ...options, env })
  }

  /** Asks the servers of this project, by the command. */
  override async inspect(name: string): Promise<Inspected | null> {
    return (await this.json<{ lock: Inspected | null }>(['inspect', name])).lock
  }
}

function sentinelUrl(name = group.name): string {
  return `redis+sentinel://${group.sentinelPorts.map((port) => `${group.host}:${port}`).join()}/${name}`
}

function clusterUrl(): string {
  return `redis+cluster://${cluster.ports.map((port) => `${cluster.host}:${port}`).join()}`
}

describe.each([
  ['Sentinels', sentinelUrl],
  ['a Cluster', clusterUrl],
] as const)('over %s', (_, url) => {
  it.each(LIBRARIES)('runs, lists, steals and releases, with %s', async (name) => {
    const project = new Project(name, url())
    const locks = ['job', 'other', 'third'].map((lock) => `${name}:${lock}`)
    const [lock = ''] = locks
    const holders = await Promise.all(locks.map((one) => project.holder(one, ['--ttl', '2s'])))
    const next = project.holdfast(['run', lock, '--', 'echo', 'my turn'])
    await project.waiters(lock, 1)
    const list = project.holdfast(['ls'])
    expect(await list.code()).toBe(0)
    for (const one of locks) expect(list.stdout).toContain(one)
    const steal = project.holdfast(['steal', lock, '--confirm', lock, '--reason', 'a test'])
    expect(await steal.code()).toBe(0)
    expect(await holders[0]?.code()).toBe(74)
    expect(await next.code()).toBe(0)
    expect(next.stdout).toBe('my turn\n')
    for (const holder of holders.slice(1)) {
      holder.types('\n')
      expect(await holder.code()).toBe(0)
    }
  })

  it.each(LIBRARIES)('is looked at by doctor, with %s', async (name) => {
    const project = new Project(name, url())
    const run = project.holdfast(['doctor'])
    expect(await run.code(), run.stdout + run.stderr).toBe(0)
    expect(run.stdout).toMatch(/ok +server +.*(redis|valkey) \d/)
    expect(run.stdout).toMatch(/ok +tokens +grow/)
  })
})

it('prints a rule that is enough in a Cluster, with either library', async () => {
  const printed = new Project('ioredis', clusterUrl()).holdfast(['doctor', '--print-acl'])
  expect(await printed.code()).toBe(0)
  const [, rule = ''] = /^ACL SETUSER holdfast on >PASSWORD (.+)\n$/.exec(printed.stdout) ?? []
  for (const { server } of cluster.members) {
    const words = ['reset', 'on', '>secret', ...rule.split(' ')]
    expect(await server.command('ACL', 'SETUSER', 'holdfast', ...words)).toBe('+OK\r\n')
  }
  const login = { username: 'holdfast', password: 'secret' }
  const io = new Cluster(
    cluster.ports.map((port) => ({ host: cluster.host, port })),
    { redisOptions: login },
  )
  const node = createCluster({
    rootNodes: cluster.ports.map((port) => ({ socket: { host: cluster.host, port } })),
    defaults: login,
  })
  node.on('error', () => undefined)
  await node.connect()
  for (const client of [io, node]) {
    const store = redisStore({ client })
    await exerciseRights(store)
    await store.close()
  }
  io.disconnect()
  node.destroy()
})

it.each(LIBRARIES)(
  'reports Sentinels that know no such primary or do not answer, with %s',
  async (name) => {
    const unknown = new Project(name, sentinelUrl('absent')).holdfast(['doctor'])
    expect(await unknown.code()).toBe(78)
    expect(unknown.stdout).toContain('knows no primary named "absent"')
    const nowhere = new Project(name, 'redis+sentinel://127.0.0.1:1/locks').holdfast([
      'run',
      'x',
      '--wait',
      '0',
      '--',
      'true',
    ])
    expect(await nowhere.code()).toBe(69)
    const lost = new Project(name, 'redis+cluster://127.0.0.1:1').holdfast([
      'run',
      'x',
      '--wait',
      '0',
      '--',
      'true',
    ])
    expect(await lost.code()).toBe(69)
  },
)
