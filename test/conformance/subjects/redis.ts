/** The Redis store as a subject: one server, through one of the client libraries. */
import { join } from 'node:path'
import type { Subject } from 'holdfast/conformance'
import { redisStore } from 'holdfast/redis'
import type { Store } from 'holdfast/store'
import { LIBRARIES, openClient, type OpenClient } from '../../servers/redis-clients.mjs'
import { startRedis } from '@holdfast/servers/redis'
import { killRounds } from '../../support/plan.js'

export type Library = (typeof LIBRARIES)[number]

export interface RedisSubject {
  readonly subject: Subject
  /** Ends the server and the clients. */
  end(): Promise<void>
}

export async function redisSubject(library: Library): Promise<RedisSubject> {
  const server = await startRedis({ appendOnly: true })
  const clients = new Set<OpenClient>()
  const open = (): Store => {
    const opened = openClient(library, server.url)
    clients.add(opened)
    return closingBoth(redisStore({ client: opened.client }), () => {
      clients.delete(opened)
      opened.end()
    })
  }
  const probe = open()
  const subject: Subject = {
    name: `redis, through ${library}`,
    traits: probe.traits,
    open,
    async restart() {
      await server.kill()
      await server.start()
    },
    worker: {
      command: process.execPath,
      args: [join(import.meta.dirname, '../workers/redis.mjs'), library, server.url],
    },
    killRounds: killRounds(),
  }
  return {
    subject,
    async end() {
      await probe.close()
      for (const { end } of clients) end()
      await server.stop()
    },
  }
}

/** The suite knows stores only; the client that a store was given is ours to close. */
export function closingBoth(store: Store, end: () => void): Store {
  const close = store.close.bind(store)
  return Object.assign(store, {
    async close() {
      await close()
      end()
    },
  })
}
