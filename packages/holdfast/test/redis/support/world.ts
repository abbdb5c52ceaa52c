/** Servers, clients and stores for the tests of the Redis store. */
import { redisStore, type RedisStoreOptions } from 'holdfast/redis'
import type { Store } from 'holdfast/store'
import { LIBRARIES, openAny, openClient } from '@holdfast/servers/redis-clients'
import { startCluster, type RedisCluster } from '@holdfast/servers/redis-cluster'
import { startSentinels, type SentinelGroup } from '@holdfast/servers/redis-sentinel'
import { startRedis, type RedisServer, type RedisServerOptions } from '@holdfast/servers/redis'
import { after, closing } from '../../../../../test/support/after.js'

export { after, closing } from '../../../../../test/support/after.js'
export { makeClaim, QUEUE, take, TRY } from '../../../../../test/support/claims.js'
export { LIBRARIES }
export type Library = (typeof LIBRARIES)[number]

/** A server that is there until the end of the test. */
export async function startServer(options?: RedisServerOptions): Promise<RedisServer> {
  const server = await startRedis(options)
  after(() => server.stop())
  return server
}

export async function startTestCluster(
  options?: Parameters<typeof startCluster>[0],
): Promise<RedisCluster> {
  const cluster = await startCluster(options)
  after(() => cluster.stop())
  return cluster
}

export async function startTestSentinels(
  options?: Parameters<typeof startSentinels>[0],
): Promise<SentinelGroup> {
  const group = await startSentinels(options)
  after(() => group.stop())
  return group
}

/** Where clients find them. */
export function whereIs(servers: RedisCluster | SentinelGroup): string {
  return 'sentinelPorts' in servers
    ? `sentinel:${servers.name}:${servers.sentinelPorts.join(',')}`
    : `cluster:${servers.ports.join(',')}`
}

/** A store over Sentinels or a Cluster, with a client of its own. */
export async function openStoreOn(
  servers: RedisCluster | SentinelGroup,
  library: Library,
  options: Omit<RedisStoreOptions, 'client'> = {},
): Promise<Store> {
  const opened = openAny(library, whereIs(servers))
  after(() => opened.end())
  await opened.ready
  return closing(redisStore({ client: opened.client, ...options }))
}

/** A client of the test, closed after it. */
export function connectTo(url: string, library: Library = 'ioredis5', options: object = {}) {
  const opened = openClient(library, url, options)
  after(() => opened.end())
  return opened.client
}

/** A store with a client of its own. */
export function openStore(
  server: Pick<RedisServer, 'url'>,
  library: Library = 'ioredis5',
  options: Omit<RedisStoreOptions, 'client'> = {},
): Store {
  return closing(redisStore({ client: connectTo(server.url, library), ...options }))
}
