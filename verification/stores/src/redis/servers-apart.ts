/** One Redis server with persistence, or five of them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Proxy } from '@holdfast/servers/proxy'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import type { AnyFaultKind, Fault } from '../faults/catalogue.js'
import { needsClock, ServerClock } from '../faults/clock.js'
import { fillDisk } from '../faults/disk.js'
import { flushAll, handOver, redisNode, refusals } from './redis-server.js'
import type { Action, Heal, Target, Tools } from '../faults/target.js'

const CATCH_UP_MS = 5000
/** Room for its log, which is rewritten before it fills the disk by itself. */
const DISK_MB = 48
const LOG_REWRITTEN_FROM = '8mb'

export async function serversApart(count: number, kinds: readonly AnyFaultKind[]): Promise<Target> {
  const clocks = needsClock(kinds)
  const diskMb = kinds.includes('disk-full') ? DISK_MB : undefined
  const times = clocks ? Array.from({ length: count }, () => new ServerClock()) : []
  const servers = await startAll(count, times, diskMb)
  /** They stay until the end of the run, connected to the clients. */
  const replaced: RedisServer[] = []
  const of = ({ server }: Fault): RedisServer => servers[server] as RedisServer
  const step: Action = ({ server, byMs }) => {
    times[server]?.step(byMs)
    return () => undefined
  }
  return {
    nodes: servers.map((_, index) =>
      redisNode(() => servers[index] as RedisServer, `redis ${index + 1}`),
    ),
    connection: (ports) => ({ ports }),
    actions: {
      ...refusals(of),
      ...forgettings(of, count),
      'disk-full': (fault) => fillDiskOf(of(fault)),
      'clock-forward': step,
      'clock-back': step,
      failover: failover(servers, (index) => startOne(times[index], diskMb)),
      'endpoint-moves': moveEndpoint(servers, replaced, (index) => startOne(times[index], diskMb)),
    },
    // Before the first write of a store this is a wrong setting.
    tolerated: { 'endpoint-moves': ['STORE_CONFIG'] },
    async stop() {
      for (const server of [...servers, ...replaced]) await server.stop()
      for (const time of times) time.remove()
    },
  }
}

/**
 * The server forgets what it granted. Of several servers that vote, one that forgets loses no
 * lease: its holder's next renewal gives it its vote again.
 */
function forgettings(
  of: (fault: Fault) => RedisServer,
  count: number,
): Record<'restart-empty' | 'flush', Action> {
  const noted = ({ forgot }: Tools): Tools['forgot'] => (count === 1 ? forgot : () => undefined)
  return {
    'restart-empty': async (fault, tools) => {
      const server = of(fault)
      const beforeNs = process.hrtime.bigint()
      await server.kill()
      server.forget()
      return async () => {
        await server.start()
        noted(tools)(beforeNs)
      }
    },
    flush: async (fault, tools) => {
      await flushAll([of(fault)], noted(tools))
      return () => undefined
    },
  }
}

/** It cannot keep its word to write everything before it answers, and ends itself. */
function fillDiskOf(server: RedisServer): Heal {
  const makeRoom = fillDisk(server.folder)
  return async () => {
    makeRoom()
    // It ends when it cannot write its log, and may be about to end just now.
    const answer = await server.command('PING').catch(() => '')
    if (!answer.startsWith('+PONG')) {
      await server.kill()
      await server.start()
    }
  }
}

/** A replica that has missed the latest writes takes the place of its master. */
function failover(
  servers: RedisServer[],
  startReplica: (index: number) => Promise<RedisServer>,
): Action {
  return async ({ server: index }, tools) => {
    const master = servers[index] as RedisServer
    const replica = await startReplica(index)
    const link = await follow(replica, master)
    // From here on the replica gets nothing, silently.
    link.faults.dropReplies = true
    return async () => {
      await master.stop()
      await replica.command('REPLICAOF', 'NO', 'ONE')
      await link.close()
      servers[index] = replica
      tools.redirect(index, replica.port)
    }
  }
}

/**
 * A replica takes over as in a managed service, without a lost write. The address leads to it a
 * while later, and no connection breaks.
 */
function moveEndpoint(
  servers: RedisServer[],
  replaced: RedisServer[],
  startReplica: (index: number) => Promise<RedisServer>,
): Action {
  return async ({ server: index }, tools) => {
    const master = servers[index] as RedisServer
    const replica = await startReplica(index)
    const link = await follow(replica, master)
    await handOver(master, replica)
    await link.close()
    servers[index] = replica
    replaced.push(master)
    return () => tools.move(index, replica.port)
  }
}

async function startAll(
  count: number,
  times: readonly ServerClock[],
  diskMb: number | undefined,
): Promise<RedisServer[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => startOne(times[index], diskMb)))
}

function startOne(time: ServerClock | undefined, diskMb: number | undefined): Promise<RedisServer> {
  return startRedis({
    appendOnly: true,
    config: [['auto-aof-rewrite-min-size', LOG_REWRITTEN_FROM]],
    ...(time ? { env: time.env } : {}),
    ...(diskMb === undefined ? {} : { diskMb }),
  })
}

/**
 * Makes one server the replica of another, and gives the way between them once it has caught up.
 */
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
