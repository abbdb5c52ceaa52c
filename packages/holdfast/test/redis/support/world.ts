/** Servers, clients, stores and claims for the tests of the Redis store. */
import { randomUUID } from 'node:crypto'
import { redisStore, type RedisStoreOptions } from 'holdfast/redis'
import { CAPACITY_ALL, type Claim, type Granted, type Store } from 'holdfast/store'
import { afterEach } from 'vitest'
import { LIBRARIES, openAny, openClient } from '@holdfast/servers/redis-clients'
import { startCluster, type RedisCluster } from '@holdfast/servers/redis-cluster'
import { startSentinels, type SentinelGroup } from '@holdfast/servers/redis-sentinel'
import { startRedis, type RedisServer, type RedisServerOptions } from '@holdfast/servers/redis'

export { LIBRARIES }
export type Library = (typeof LIBRARIES)[number]

const cleanups: (() => unknown)[] = []

/** Done after the test, the latest first. */
export function after(cleanup: () => unknown): void {
  cleanups.push(cleanup)
}

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
})

/** A server that is there until the end of the test. */
export async function startServer(options?: RedisServerOptions): Promise<RedisServer> {
  const server = await startRedis(options)
  after(() => server.stop())
  return server
}

export async function startTestCluster(options?: Parameters<typeof startCluster>[0]): Promise<RedisCluster> {
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
): Promise<Store<true>> {
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
): Store<true> {
  return closing(redisStore({ client: connectTo(server.url, library), ...options }))
}

/** Closes the store after the test. */
export function closing<S extends Store>(store: S): S {
  after(() => store.close())
  return store
}

export function makeClaim(lock: string, changes: Partial<Claim> = {}): Claim {
  const owner = { clientId: randomUUID().slice(0, 8), host: 'test', pid: process.pid }
  const id = `${owner.clientId}.${randomUUID().slice(0, 8)}`
  const kind = changes.kind ?? 'mutex'
  return {
    lock,
    id,
    kind,
    capacity: CAPACITY_ALL,
    weight: kind === 'semaphore' ? 1 : CAPACITY_ALL,
    ttlMs: 30_000,
    heartbeatMs: 1000,
    owner,
    ...changes,
  }
}

export const QUEUE = { enqueue: true, tokens: 1 } as const
export const TRY = { enqueue: false, tokens: 1 } as const

/** Takes a free lock, or fails. */
export async function take(store: Store, claim: Claim): Promise<Granted & { token: bigint }> {
  const result = await store.attempt(claim, TRY)
  if (result.outcome !== 'granted' || result.token === undefined) {
    throw new Error(`the lock ${claim.lock} was expected to be free, and the answer is ${result.outcome}`)
  }
  return { ...result, token: result.token }
}

/** Looks until it is so. The time is a bound, not a wait. */
export async function until(what: string, isSo: () => unknown, withinMs = 10_000): Promise<void> {
  const giveUpMs = performance.now() + withinMs
  while (!(await isSo())) {
    if (performance.now() > giveUpMs) throw new Error(`${what}: not within ${withinMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}
