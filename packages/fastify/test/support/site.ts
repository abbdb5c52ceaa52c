/** A Fastify application that listens on the loopback, and a client of the same store beside it. */
import { holdfastFastify, type HoldfastFastifyOptions } from '@holdfast/fastify'
import { eventually } from '@holdfast/servers/eventually'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import { createLocks, type Locks } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import type { AddressInfo } from 'node:net'
import { after } from '../../../../test/support/after.js'

export interface Site {
  readonly app: FastifyInstance
  readonly port: number
  /** Another client of the store, as other processes have. */
  readonly beside: Locks
  /** Resolves when a request waits in the store for the lock `a`. */
  hasWaiter(): Promise<void>
  /** Whether the lock `a` is held. */
  isHeld(): Promise<boolean>
  /** Resolves when the lock `a` is free. */
  isFree(): Promise<void>
}

export interface SiteOptions {
  readonly fastify?: FastifyServerOptions & { readonly http2?: true }
  readonly plugin?: Partial<HoldfastFastifyOptions>
}

/** @param add adds the routes, after the plugin */
export async function startSite(
  add: (app: FastifyInstance) => unknown,
  { fastify = {}, plugin = {} }: SiteOptions = {},
): Promise<Site> {
  const store = plugin.store ?? memoryStore()
  const app = Fastify({ forceCloseConnections: true, ...fastify } as FastifyServerOptions)
  await app.register(holdfastFastify, { ...plugin, store })
  await add(app)
  const beside = createLocks(store)
  after(async () => {
    await app.close()
    await beside.close()
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const look = () => beside.mutex('a').inspect()
  const isHeld = async (): Promise<boolean> => (await look()).holders.length > 0
  return {
    app,
    port: (app.server.address() as AddressInfo).port,
    beside,
    hasWaiter: () => eventually('it waits', async () => (await look()).waiters.length === 1),
    isHeld,
    isFree: () => eventually('the lock is free', async () => !(await isHeld())),
  }
}
