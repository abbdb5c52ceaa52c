/**
 * Servers that the lab can start: how to see whether they are installed, and what installs them.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join } from 'node:path'
import { startEtcd } from '@holdfast/servers/etcd'
import { startMysql } from '@holdfast/servers/mysql'
import { startPostgres } from '@holdfast/servers/postgres'
import { startRedis } from '@holdfast/servers/redis'
import { startZooKeeper } from '@holdfast/servers/zookeeper'

export const SERVICES = ['postgres', 'mysql', 'redis', 'redlock', 'zookeeper', 'etcd'] as const
export type ServiceName = (typeof SERVICES)[number]

/**
 * A service that runs: where clients connect, and how to end it. Several addresses are separated by
 * commas.
 */
export interface Running {
  readonly address: string
  stop(): Promise<void>
}

export interface ServiceKind {
  readonly title: string
  /** How the names of its servers begin, where not with the title. */
  readonly server?: string
  readonly installed: () => boolean
  /** The npm package of its client, if it needs one. */
  readonly client?: string
  /** Debian's package of the server. */
  readonly debian: string
  readonly start: () => Promise<Running>
}

/** Redlock wants at least this many masters, and survives the loss of one. */
const MASTERS = 3

const redis = {
  installed: () => onPath('redis-server'),
  server: 'redis-server',
  client: 'ioredis',
  debian: 'redis-server',
}

export const CATALOGUE: Readonly<Record<ServiceName, ServiceKind>> = {
  postgres: {
    title: 'PostgreSQL',
    installed: () => existsSync('/usr/lib/postgresql'),
    client: 'pg',
    debian: 'postgresql',
    async start() {
      const server = await startPostgres()
      return { address: server.url, stop: () => server.remove() }
    },
  },
  mysql: {
    title: 'MariaDB',
    installed: () => onPath('mariadbd'),
    client: 'mysql2',
    debian: 'mariadb-server',
    async start() {
      const server = await startMysql()
      return { address: server.url, stop: () => server.remove() }
    },
  },
  redis: {
    title: 'Redis',
    ...redis,
    async start() {
      const server = await startRedis()
      return { address: server.url, stop: () => server.stop() }
    },
  },
  redlock: {
    title: 'Redlock',
    ...redis,
    async start() {
      const servers = await Promise.all(Array.from({ length: MASTERS }, () => startRedis()))
      return {
        address: servers.map(({ url }) => url).join(),
        stop: async () => void (await Promise.all(servers.map((server) => server.stop()))),
      }
    },
  },
  zookeeper: {
    title: 'ZooKeeper',
    installed: () => existsSync('/usr/share/java/zookeeper.jar') && onPath('java'),
    debian: 'zookeeper',
    async start() {
      const ensemble = await startZooKeeper()
      return { address: ensemble.connect, stop: () => ensemble.stop() }
    },
  },
  etcd: {
    title: 'etcd',
    installed: () => onPath('etcd'),
    debian: 'etcd-server',
    async start() {
      const cluster = await startEtcd()
      return { address: cluster.endpoints.join(), stop: () => cluster.stop() }
    },
  },
}

/** Why a service cannot be had, and the command that would change it; undefined when it can. */
export function lacking(name: ServiceName): string | undefined {
  const { installed, client, debian } = CATALOGUE[name]
  if (!installed()) return `apt-get install -y ${debian}`
  return client === undefined || hasModule(client) ? undefined : `npm install ${client}`
}

function onPath(command: string): boolean {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  return folders.some((folder) => existsSync(join(folder, command)))
}

function hasModule(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name)
    return true
  } catch {
    return false
  }
}
