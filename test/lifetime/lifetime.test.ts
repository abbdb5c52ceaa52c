/**
 * What keeps a process alive: a pending call does until it settles, and a held lease alone does
 * not. After `close`, nothing of the store is left. A client that is closed first gets an answer.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mysqlSchema } from 'holdfast/mysql'
import { postgresSchema } from 'holdfast/postgres'
import { startEtcd } from '@holdfast/servers/etcd'
import { startMysql } from '@holdfast/servers/mysql'
import { startPostgres } from '@holdfast/servers/postgres'
import { startCluster } from '@holdfast/servers/redis-cluster'
import { startSentinels } from '@holdfast/servers/redis-sentinel'
import { startRedis } from '@holdfast/servers/redis'
import { startZooKeeper } from '@holdfast/servers/zookeeper'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isFull } from '../support/plan.js'

/** A program that does not end would live until here. */
const LONG_MS = 60_000
/** Longer than a busy machine takes for a prompt answer, shorter than the limits of retries. */
const PROMPT_MS = 3000

interface Step {
  readonly step: string
  readonly atMs: number
  readonly held?: boolean
  readonly resources?: readonly string[]
}

interface Life {
  readonly exitCode: number
  readonly steps: readonly Step[]
  readonly names: readonly string[]
}

type Place = string | readonly string[]

/** Where the store is, and how that is removed. */
interface Backing {
  readonly at: Place
  remove(): unknown
}

interface Kit {
  readonly start: () => Promise<Backing>
  readonly kinds: readonly string[]
  /** Whether the program has a client of its own for the store. */
  readonly hasClient: boolean
}

const oneRedis = async (): Promise<Backing> => {
  const server = await startRedis()
  return { at: server.url, remove: () => server.stop() }
}

const EVERY_DAY: readonly Kit[] = [
  {
    start: async () => ({ at: '', remove: () => undefined }),
    kinds: ['memory'],
    hasClient: false,
  },
  {
    async start() {
      const directory = mkdtempSync(join(tmpdir(), 'holdfast-lifetime-'))
      return { at: directory, remove: () => rmSync(directory, { recursive: true }) }
    },
    kinds: ['embedded'],
    hasClient: false,
  },
  { start: oneRedis, kinds: ['redis/ioredis6', 'redis/redis6'], hasClient: true },
]

const ONLY_IN_FULL: readonly Kit[] = [
  { start: oneRedis, kinds: ['redis/ioredis5'], hasClient: true },
  {
    async start() {
      const sentinels = await startSentinels()
      const { name, sentinelPorts } = sentinels
      return { at: `sentinel:${name}:${sentinelPorts.join(',')}`, remove: () => sentinels.stop() }
    },
    kinds: ['redis/ioredis6', 'redis/redis6'],
    hasClient: true,
  },
  {
    async start() {
      const servers = await startCluster()
      return { at: `cluster:${servers.ports.join(',')}`, remove: () => servers.stop() }
    },
    kinds: ['redis/ioredis6', 'redis/redis6'],
    hasClient: true,
  },
  {
    async start() {
      const servers = await Promise.all([startRedis(), startRedis(), startRedis()])
      const remove = (): Promise<unknown> => Promise.all(servers.map((server) => server.stop()))
      return { at: servers.map(({ url }) => url), remove }
    },
    kinds: ['redlock/ioredis6', 'redlock/redis6'],
    hasClient: true,
  },
  {
    async start() {
      const servers = await startEtcd()
      return { at: servers.endpoints, remove: () => servers.stop() }
    },
    kinds: ['etcd'],
    hasClient: false,
  },
  {
    async start() {
      const ensemble = await startZooKeeper()
      return { at: ensemble.connect, remove: () => ensemble.stop() }
    },
    kinds: ['zookeeper'],
    hasClient: false,
  },
  {
    async start() {
      const server = await startPostgres()
      server.psql(postgresSchema())
      return { at: server.url, remove: () => server.remove() }
    },
    kinds: ['postgres/pg', 'postgres/postgres'],
    hasClient: true,
  },
  {
    async start() {
      const server = await startMysql()
      server.sql(mysqlSchema())
      return { at: server.url, remove: () => server.remove() }
    },
    kinds: ['mysql/mysql2'],
    hasClient: true,
  },
]

function live(kind: string, at: Place, scene: string): Promise<Life> {
  const terms = JSON.stringify({ kind, at, scene })
  const path = join(import.meta.dirname, 'worker.mjs')
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [path, terms], { timeout: LONG_MS / 2 }, (_, out) => {
      const lines = out.split('\n').filter((line) => line !== '')
      const steps = lines.map((line) => JSON.parse(line) as Step)
      resolve({ exitCode: child.exitCode ?? -1, steps, names: steps.map(({ step }) => step) })
    })
    child.stderr?.pipe(process.stderr)
  })
}

/** The time between two steps, in milliseconds. */
function between(steps: readonly Step[], first: string, last: string): number {
  const at = (name: string): number => steps.find(({ step }) => step === name)?.atMs ?? Number.NaN
  return at(last) - at(first)
}

for (const { start, kinds, hasClient } of isFull() ? [...EVERY_DAY, ...ONLY_IN_FULL] : EVERY_DAY) {
  describe.each(kinds)('a program over %s', { timeout: LONG_MS }, (kind) => {
    let backing: Backing

    beforeAll(async () => {
      backing = await start()
    }, LONG_MS)
    afterAll(() => backing.remove())

    test('lives while a call is pending, and not after close', async () => {
      const { exitCode, steps, names } = await live(kind, backing.at, 'pending')
      expect(names).toEqual(['granted', 'leads', 'released', 'closed', 'left'])
      expect(steps.at(-1)?.resources).toEqual([])
      expect(exitCode).toBe(0)
    })

    test('ends at its end, with a lease that it holds', async () => {
      const { exitCode, names } = await live(kind, backing.at, 'held')
      expect(names).toEqual(['held'])
      expect(exitCode).toBe(0)
    })

    test.runIf(hasClient)('gets an answer after it ended its client first', async () => {
      const { exitCode, steps, names } = await live(kind, backing.at, 'client-first')
      const [held, ended, released, acquired, ...rest] = names
      expect([held, ended, ...rest]).toEqual(['held', 'ended', 'closed'])
      // A Cluster has connections of the store's own, which still work.
      expect(['RELEASE_UNKNOWN', 'released']).toContain(released)
      expect(['LOCKS_CLOSED', 'granted']).toContain(acquired)
      expect(between(steps, 'ended', 'closed')).toBeLessThan(PROMPT_MS)
      expect(exitCode).toBe(0)
    })

    test.runIf(hasClient)('gets an answer after it ended its client under a waiter', async () => {
      const { exitCode, steps, names } = await live(kind, backing.at, 'client-before-waiter')
      // The client may be ended before or after the caller has its answer.
      const [answer, ...others] = names.filter((name) => name !== 'ends' && name !== 'ended')
      expect(others).toEqual(['closed'])
      expect(names).toContain('ended')
      // A Cluster has connections of the store's own, which still wait.
      expect(['LOCKS_CLOSED', 'granted']).toContain(answer)
      if (answer !== 'granted') expect(between(steps, 'ends', 'closed')).toBeLessThan(PROMPT_MS)
      expect(exitCode).toBe(0)
    })
  })
}
