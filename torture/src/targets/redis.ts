/** One Redis server that keeps what it is told, or five of them. */
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import type { StoreName } from '../stores.js'
import type { Fault } from '../faults/catalogue.js'
import { ServerClock } from './clock.js'
import type { Action, ServerNode, Target } from './target.js'

/** So much is kept free of a server's memory when it has none left: nothing. */
const NO_MEMORY = '1'

export async function redisTarget(
  store: Extract<StoreName, 'redis' | 'redis-simple' | 'redlock'>,
  count: number,
  clocks: boolean,
): Promise<Target> {
  const times = clocks ? Array.from({ length: count }, () => new ServerClock()) : []
  const servers = await startAll(count, times)
  const ready = async (server: RedisServer): Promise<void> => {
    if (store === 'redis-simple') await banScripts(server)
  }
  for (const server of servers) await ready(server)
  const of = ({ server }: Fault): RedisServer => servers[server] as RedisServer
  const step: Action = ({ server, byMs }) => {
    times[server]?.step(byMs)
    return () => undefined
  }
  return {
    nodes: servers.map((server, index) => redisNode(server, `redis ${index + 1}`, ready)),
    connection: (ports) => ({ ports }),
    actions: {
      'restart-empty': async (fault, tools) => {
        const server = of(fault)
        await server.kill()
        server.forget()
        return async () => {
          await server.start()
          await ready(server)
          tools.forgot()
        }
      },
      flush: async (fault, tools) => {
        await of(fault).command('FLUSHALL', 'SYNC')
        tools.forgot()
        return () => undefined
      },
      'script-flush': async (fault) => {
        await of(fault).command('SCRIPT', 'FLUSH')
        return () => undefined
      },
      oom: async (fault) => {
        await of(fault).command('CONFIG', 'SET', 'maxmemory', NO_MEMORY)
        return async () => void (await of(fault).command('CONFIG', 'SET', 'maxmemory', '0'))
      },
      'clock-forward': step,
      'clock-back': step,
    },
    async stop() {
      for (const server of servers) await server.stop()
      for (const time of times) time.remove()
    },
  }
}

async function startAll(count: number, times: readonly ServerClock[]): Promise<RedisServer[]> {
  return Promise.all(
    Array.from({ length: count }, (_, index) => {
      const time = times[index]
      return startRedis({ appendOnly: true, ...(time ? { env: time.env } : {}) })
    }),
  )
}

function redisNode(
  server: RedisServer,
  name: string,
  ready: (server: RedisServer) => Promise<void>,
): ServerNode {
  return {
    name,
    port: server.port,
    crash: () => server.kill(),
    async start() {
      await server.start()
      await ready(server)
    },
    signal: (signal) => (signal === 'SIGSTOP' ? server.pause() : server.resume()),
  }
}

async function banScripts(server: RedisServer): Promise<void> {
  const reply = await server.command('ACL', 'SETUSER', 'default', '-@scripting')
  if (!reply.startsWith('+OK')) throw new Error(`The server did not ban scripts: ${reply}`)
}
