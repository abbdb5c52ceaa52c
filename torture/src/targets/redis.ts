/** One Redis server that keeps what it is told, or five of them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Proxy } from '@holdfast/servers/proxy'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import type { StoreName } from '../stores.js'
import type { Fault } from '../faults/catalogue.js'
import { ServerClock } from './clock.js'
import type { Action, ServerNode, Target, Tools } from './target.js'

/** What a server may use when it has no memory left; 0 would mean no limit. */
const NO_MEMORY = '1'
const CATCH_UP_MS = 5000

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
  const start = (index: number): Promise<RedisServer> => startOne(times[index])
  // Of several servers that vote, one that forgets loses no lease: its holder's next renewal gives it its vote again.
  const forgot = (tools: Tools): void => (count === 1 ? tools.forgot() : undefined)
  const step: Action = ({ server, byMs }) => {
    times[server]?.step(byMs)
    return () => undefined
  }
  return {
    nodes: servers.map((_, index) =>
      redisNode(() => servers[index] as RedisServer, `redis ${index + 1}`, ready),
    ),
    connection: (ports) => ({ ports }),
    actions: {
      'restart-empty': async (fault, tools) => {
        const server = of(fault)
        await server.kill()
        server.forget()
        return async () => {
          await server.start()
          await ready(server)
          forgot(tools)
        }
      },
      flush: async (fault, tools) => {
        await of(fault).command('FLUSHALL', 'SYNC')
        forgot(tools)
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
      failover: async ({ server: index }, tools) => {
        const master = servers[index] as RedisServer
        const replica = await start(index)
        await ready(replica)
        const link = await follow(replica, master)
        // From here on the replica gets nothing, and nobody is told.
        link.faults.dropReplies = true
        return async () => {
          await master.stop()
          await replica.command('REPLICAOF', 'NO', 'ONE')
          await link.close()
          servers[index] = replica
          tools.redirect(index, replica.port)
        }
      },
    },
    async stop() {
      for (const server of servers) await server.stop()
      for (const time of times) time.remove()
    },
  }
}

async function startAll(count: number, times: readonly ServerClock[]): Promise<RedisServer[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => startOne(times[index])))
}

function startOne(time: ServerClock | undefined): Promise<RedisServer> {
  return startRedis({ appendOnly: true, ...(time ? { env: time.env } : {}) })
}

/** Makes one server the replica of another, and gives the way between them once it has caught up. */
async function follow(replica: RedisServer, master: RedisServer): Promise<Proxy> {
  const link = await Proxy.to(master.port)
  // A master waits for more replicas to come, by default for five seconds.
  await master.command('CONFIG', 'SET', 'repl-diskless-sync-delay', '0')
  await replica.command('REPLICAOF', '127.0.0.1', String(link.port))
  const endMs = performance.now() + CATCH_UP_MS
  while (!(await replica.command('INFO', 'replication')).includes('master_link_status:up')) {
    if (performance.now() > endMs) {
      await Promise.all([replica.stop(), link.close()])
      throw new Error(`The replica did not catch up within ${CATCH_UP_MS} ms.`)
    }
    await sleep(20)
  }
  return link
}

function redisNode(
  server: () => RedisServer,
  name: string,
  ready: (server: RedisServer) => Promise<void>,
): ServerNode {
  return {
    name,
    get port() {
      return server().port
    },
    crash: () => server().kill(),
    async start() {
      await server().start()
      await ready(server())
    },
    signal: (signal) => (signal === 'SIGSTOP' ? server().pause() : server().resume()),
  }
}

async function banScripts(server: RedisServer): Promise<void> {
  const reply = await server.command('ACL', 'SETUSER', 'default', '-@scripting')
  if (!reply.startsWith('+OK')) throw new Error(`The server did not ban scripts: ${reply}`)
}
