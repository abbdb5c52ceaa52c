/** How the conformance suite runs over Redis. */
import type { Skip } from '@holdfast/conformance'
import type { OpenClient } from '@holdfast/servers/redis-clients'
import type { Store } from 'holdfast/store'
import { closing } from '../closing.js'
import type { OpenOptions, ReusedClients, SuiteTerms } from '../descriptor.js'
import type { Library } from './clients.js'
import { OVER_HTTP } from './service.js'

/** Two other cases check the tombstones that the store keeps. */
export const REMEMBERS_FEW: Skip = {
  reason:
    'of the claims whose attempts were answered the store remembers the last four or five that were released',
  tests: ['the tombstone of a withdrawn claim outlasts a hundred later claims'],
}

/** Fewer processes are killed where the rule is the same as on one server. */
export const FEWER_KILLS = 1 / 5

/** @param made how many clients are made before the first case */
export function reusedClients(made = 0): NonNullable<SuiteTerms['reuse']> {
  return async ([where = ''], { library, load }: OpenOptions) => {
    const { openAny } = await import('@holdfast/servers/redis-clients')
    const { redisStore } = await load<typeof import('holdfast/redis')>('redis')
    if (library === OVER_HTTP) return overHttp(redisStore, where)
    const clients = new Clients(() => openAny(library as Library, where))
    const taken = await Promise.all(Array.from({ length: made }, () => clients.take()))
    for (const client of taken) clients.giveBack(client)
    return Object.assign(clients, {
      async open(): Promise<Store> {
        const opened = await clients.take()
        return closing(redisStore({ client: opened.client }), () => clients.giveBack(opened))
      },
    })
  }
}

/** All stores of a process share one bridge. */
async function overHttp(
  redisStore: typeof import('holdfast/redis').redisStore,
  where: string,
): Promise<ReusedClients> {
  const { startRestBridge } = await import('@holdfast/servers/redis-rest')
  const bridge = await startRestBridge(where)
  const { url, token } = bridge
  return {
    open: async () => redisStore({ url, token }),
    forgetIdle: () => undefined,
    endAll: () => void bridge.stop(),
  }
}

/**
 * Connected clients, used again by one store after the other, as in a program that makes one at its
 * start. To make one of node-redis for Sentinels keeps the process busy for 100 ms, in which no
 * other case can renew its leases.
 */
class Clients implements Omit<ReusedClients, 'open'> {
  readonly #make: () => OpenClient
  readonly #all = new Set<OpenClient>()
  #idle: OpenClient[] = []
  /** Those in use while the service went: they may not be connected again yet. */
  #old = new WeakSet<OpenClient>()

  constructor(make: () => OpenClient) {
    this.#make = make
  }

  async take(): Promise<OpenClient> {
    const idle = this.#idle.pop()
    if (idle) return idle
    const made = this.#make()
    this.#all.add(made)
    // Connected, since cases with a short request timeout must not wait for the connection.
    await made.ready
    return made
  }

  giveBack(client: OpenClient): void {
    if (this.#old.has(client)) this.#end(client)
    else this.#idle.push(client)
  }

  /** Ends those that no store uses, and each other one after its use: the service goes. */
  forgetIdle(): void {
    for (const client of this.#idle) this.#end(client)
    this.#idle = []
    this.#old = new WeakSet(this.#all)
  }

  endAll(): void {
    for (const client of this.#all) this.#end(client)
  }

  #end(client: OpenClient): void {
    this.#all.delete(client)
    client.end()
  }
}
