/** Independent servers, stores over all of them, and a look at each node past Redlock. */
import type { Clock } from '../../../dist/clock/clock.js'
import { redisStore } from 'holdfast/redis'
import { redlockStore } from 'holdfast/redlock'
import type { AttemptResult, Claim, Store } from 'holdfast/store'
import { eventually } from '@holdfast/servers/eventually'
import { Proxy } from '@holdfast/servers/proxy'
import { openClient, type OpenClient } from '@holdfast/servers/redis-clients'
import { startRedis, type RedisServer, type RedisServerOptions } from '@holdfast/servers/redis'
import { makeClaim } from '../../../../../test/support/claims.js'

/**
 * How long a test waits for what must come soon, in milliseconds: far less than the TTL of its
 * claims.
 */
const SOON_MS = 8000

interface OpenOptions {
  readonly nodeTimeoutMs?: number
  readonly requestTimeoutMs?: number
  /** Whether the clients keep what they cannot send yet. Default true, as theirs is. */
  readonly enableOfflineQueue?: boolean
  /** The clock of the process. Default: the machine's. */
  readonly clock?: Clock
  /** Which servers are reached through their proxies. */
  readonly throughProxies?: readonly number[]
}

type PassOne = (send: () => Promise<unknown>, args: readonly string[]) => Promise<unknown>

/** What a client does with each command for one of its nodes: it sends it, or does not. */
export type Pass = (
  node: number,
  args: readonly string[],
  send: () => Promise<unknown>,
) => Promise<unknown>

export interface World {
  readonly servers: readonly RedisServer[]
  /** One for each server. */
  readonly proxies: readonly Proxy[]
  /** A store over all servers, as one process has. */
  open(options?: OpenOptions): Store
  /**
   * Likewise, where every command for one of the servers passes through `pass`, which sends it or
   * does not.
   */
  openThrough(index: number, pass: PassOne, options?: Pick<OpenOptions, 'nodeTimeoutMs'>): Store
  /** Likewise for all servers. */
  openPassing(pass: Pass, options?: Pick<OpenOptions, 'nodeTimeoutMs'>): Store
  /** The store of one server alone: what a node itself says. */
  node(index: number): Store
  end(): Promise<void>
}

export async function startWorld(count: number, options: RedisServerOptions = {}): Promise<World> {
  const servers = await Promise.all(Array.from({ length: count }, () => startRedis(options)))
  const proxies = await Promise.all(servers.map(({ port }) => Proxy.to(port)))
  const clients: OpenClient[] = []
  const stores: Store[] = []
  const connect = (url: string, enableOfflineQueue = true): OpenClient['client'] => {
    const opened = openClient('ioredis6', url, { retryStrategy: () => 50, enableOfflineQueue })
    clients.push(opened)
    return opened.client
  }
  const nodes = new Map<number, Store>()
  const openPassing: World['openPassing'] = (pass, settings = {}) => {
    const all = servers.map(({ url }) => connect(url))
    for (const [node, one] of all.entries()) {
      const client = one as { call(...args: string[]): Promise<unknown> }
      const call = client.call.bind(client)
      client.call = (...args) => pass(node, args, async () => call(...args))
    }
    const store = redlockStore({ clients: all, ...settings })
    stores.push(store)
    return store
  }
  return {
    servers,
    proxies,
    open({ throughProxies = [], enableOfflineQueue = true, ...settings } = {}) {
      const urls = servers.map(({ url }, index) =>
        throughProxies.includes(index) ? `redis://127.0.0.1:${proxies[index]!.port}` : url,
      )
      const store = redlockStore({
        clients: urls.map((url) => connect(url, enableOfflineQueue)),
        ...settings,
      })
      stores.push(store)
      return store
    },
    openPassing,
    openThrough: (index, pass, settings) =>
      openPassing((node, args, send) => (node === index ? pass(send, args) : send()), settings),
    node(index) {
      let node = nodes.get(index)
      if (!node) {
        node = redisStore({ client: connect(servers[index]!.url) })
        nodes.set(index, node)
        stores.push(node)
      }
      return node
    },
    async end() {
      for (const store of stores) await store.close()
      for (const { end } of clients) end()
      await Promise.all(proxies.map((proxy) => proxy.close()))
      await Promise.all(servers.map((server) => server.stop()))
    },
  }
}

/** A claim of a mutex, whose TTL is far longer than a test unless said otherwise. */
export function claimOf(lock: string, changes: Partial<Claim> = {}): Claim {
  return makeClaim(lock, { ttlMs: 60_000, ...changes })
}

export async function attempt(store: Store, claim: Claim): Promise<AttemptResult['outcome']> {
  return (await store.attempt(claim, { enqueue: false, tokens: 1 })).outcome
}

/** Returns which claim holds the lock on one node alone. */
export async function holderAt(
  world: World,
  index: number,
  lock: string,
): Promise<string | undefined> {
  const locks = await world.node(index).inspect([lock])
  return locks[0]?.holders[0]?.claimId
}

export async function holders(world: World, lock: string): Promise<(string | undefined)[]> {
  return Promise.all(world.servers.map((_, index) => holderAt(world, index, lock)))
}

/** Waits until the expectations hold, which must be long before any TTL has passed. */
export async function soon(expectations: () => Promise<void>): Promise<void> {
  const hold = (): Promise<true> => expectations().then(() => true)
  await eventually('the expectations', hold, { withinMs: SOON_MS, everyMs: 20 })
}
