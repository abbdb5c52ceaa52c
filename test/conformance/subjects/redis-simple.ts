/** The simple mode of the Redis store as a subject: a server whose user may not run scripts. */
import { join } from 'node:path'
import type { Subject } from 'holdfast/conformance'
import { redisStore } from 'holdfast/redis'
import type { Store } from 'holdfast/store'
import { openClient, type OpenClient } from '@holdfast/servers/redis-clients'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import { serverKillRounds } from '../../support/plan.js'
import { closingBoth, type Library, type RedisSubject } from './redis.js'

export async function simpleRedisSubject(library: Library): Promise<RedisSubject> {
  const server = await startRedis({ appendOnly: true })
  await banScripts(server)
  const clients = new Set<OpenClient>()
  const open = (): Store => {
    const opened = openClient(library, server.url)
    clients.add(opened)
    const store = redisStore({ client: opened.client, mode: 'simple' })
    return closingBoth(store, () => {
      clients.delete(opened)
      opened.end()
    })
  }
  const probe = open()
  const subject: Subject = {
    name: `redis in simple mode, through ${library}`,
    traits: probe.traits,
    open,
    async restart() {
      await server.kill()
      await server.start()
      await banScripts(server)
    },
    worker: {
      command: process.execPath,
      args: [join(import.meta.dirname, '../workers/redis.mjs'), library, server.url, 'simple'],
    },
    killRounds: serverKillRounds(),
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

export async function banScripts(server: RedisServer): Promise<void> {
  const reply = await server.command('ACL', 'SETUSER', 'default', '-@scripting')
  if (!reply.startsWith('+OK')) throw new Error(`The server did not ban scripts: ${reply}`)
}
