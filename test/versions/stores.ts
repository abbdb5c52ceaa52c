/** The stores in which old and new processes meet, with the places where both find them. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEtcd } from '@holdfast/servers/etcd'
import { startMysql } from '@holdfast/servers/mysql'
import { startPostgres } from '@holdfast/servers/postgres'
import { startRedis } from '@holdfast/servers/redis'
import { startZooKeeper, TICK_MS } from '@holdfast/servers/zookeeper'
import type { LockRequest } from './process.js'

export interface Service {
  /** What a worker is started with. */
  readonly args: readonly string[]
  stop(): Promise<unknown>
}

export interface StoreBeside {
  readonly name: string
  readonly kinds: readonly LockRequest['kind'][]
  /** How long a lease lasts, in milliseconds. */
  readonly ttlMs: number
  start(): Promise<Service>
}

const ALL = ['mutex', 'reader', 'writer', 'semaphore'] as const

const usual = { kinds: ALL, ttlMs: 1500 } as const

export const STORES: readonly StoreBeside[] = [
  {
    ...usual,
    name: 'embedded',
    async start() {
      const folder = await mkdtemp(join(tmpdir(), 'holdfast-versions-'))
      return {
        args: ['embedded', folder],
        stop: () => rm(folder, { recursive: true, force: true }),
      }
    },
  },
  ...(['ioredis6', 'redis6'] as const).map((library): StoreBeside => ({
    ...usual,
    name: `redis through ${library}`,
    async start() {
      const server = await startRedis()
      return { args: ['redis', library, server.url], stop: () => server.stop() }
    },
  })),
  {
    ...usual,
    name: 'redlock',
    kinds: ['mutex', 'reader', 'writer'],
    async start() {
      const servers = await Promise.all([1, 2, 3].map(() => startRedis()))
      const stop = (): Promise<unknown> => Promise.all(servers.map((server) => server.stop()))
      return { args: ['redlock', ...servers.map(({ url }) => url)], stop }
    },
  },
  {
    ...usual,
    name: 'zookeeper',
    async start() {
      const ensemble = await startZooKeeper({ servers: 1 })
      return { args: ['zookeeper', ensemble.connect, String(TICK_MS)], stop: () => ensemble.stop() }
    },
  },
  {
    ...usual,
    name: 'etcd',
    // It counts in whole seconds.
    ttlMs: 2000,
    async start() {
      const cluster = await startEtcd()
      return { args: ['etcd', ...cluster.endpoints], stop: () => cluster.stop() }
    },
  },
  {
    ...usual,
    name: 'postgres',
    async start() {
      const server = await startPostgres()
      return { args: ['postgres', server.url, 'migrate'], stop: () => server.remove() }
    },
  },
  {
    ...usual,
    name: 'mysql',
    async start() {
      const server = await startMysql()
      return { args: ['mysql', server.url, 'migrate'], stop: () => server.remove() }
    },
  },
]
