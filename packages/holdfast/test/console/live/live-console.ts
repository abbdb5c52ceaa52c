/** A console over a real Redis, in an application of its own. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createLocks, type Locks, type LocksOptions } from 'holdfast'
import { locksConsole, type Access } from 'holdfast/console'
import { redisStore } from 'holdfast/redis'
import type { Store } from 'holdfast/store'
import { openClient } from '@holdfast/servers/redis-clients'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import { after } from '../../../../../test/support/after.js'

export const ADA: Access = { user: 'ada', may: ['look', 'steal'] }
const REFRESH_MS = 250

export interface LiveConsole {
  readonly url: string
  readonly redis: RedisServer
  readonly store: Store
  /** Whom `authorize` lets in from now on. */
  access: Access
  /** Another process, as far as the store knows. */
  client(label: string, options?: LocksOptions): Locks
}

/** Ends after the test. */
export async function startLiveConsole(): Promise<LiveConsole> {
  const redis = await startRedis({ appendOnly: true })
  after(() => redis.stop())
  const openStore = (): Store => {
    const opened = openClient('ioredis5', redis.url)
    after(() => opened.end())
    return redisStore({ client: opened.client })
  }
  const client = (label: string, options: LocksOptions = {}): Locks => {
    const locks = createLocks(openStore(), { label, ...options })
    after(() => locks.close({ graceMs: 0 }))
    return locks
  }
  const locks = client('console')
  const live = { redis, client, store: locks.store, access: ADA, url: '' }
  const authorize = (): Access => live.access
  const page = locksConsole({ locks, authorize, readOnly: false, refreshMs: REFRESH_MS })
  after(() => page.close())
  const server = createServer((req, res) => page.node(req, res)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.close()
    server.closeAllConnections()
  })
  live.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return live
}
