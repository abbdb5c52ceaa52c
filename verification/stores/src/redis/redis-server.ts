/**
 * What all Redis deployments have in common: servers as nodes, and what can be done to one of them
 * while it runs.
 */
import type { RedisServer } from '@holdfast/servers/redis'
import { eventually } from '@holdfast/servers/eventually'
import type { Fault } from '../faults/catalogue.js'
import type { Action, ServerNode, Tools } from '../faults/target.js'

/** What a server may use when it has no memory left; 0 would mean no limit. */
const NO_MEMORY = '1'

/** Which server a fault meets. */
export type Which = (fault: Fault) => RedisServer | Promise<RedisServer>

export function redisNode(server: () => RedisServer, name: string): ServerNode {
  return {
    name,
    get port() {
      return server().port
    },
    crash: () => server().kill(),
    start: () => server().start(),
    signal: (signal) => (signal === 'SIGSTOP' ? server().pause() : server().resume()),
  }
}

export function refusals(which: Which): Record<'script-flush' | 'oom', Action> {
  return {
    'script-flush': async (fault) => {
      await expectOk(await which(fault), 'SCRIPT', 'FLUSH')
      return () => undefined
    },
    oom: async (fault) => {
      const server = await which(fault)
      await expectOk(server, 'CONFIG', 'SET', 'maxmemory', NO_MEMORY)
      return () => expectOk(server, 'CONFIG', 'SET', 'maxmemory', '0')
    },
  }
}

/** Deletes all data of these servers. */
export async function flushAll(
  servers: readonly RedisServer[],
  forgot: Tools['forgot'],
): Promise<void> {
  const beforeNs = process.hrtime.bigint()
  await Promise.all(servers.map((server) => expectOk(server, 'FLUSHALL', 'SYNC')))
  forgot(beforeNs)
}

/** No write is lost that a server answered: longer than any hand-over takes. */
const PAUSED_MS = 20_000

/**
 * Makes a replica the primary once it has everything, and the primary its replica. Writes wait
 * meanwhile, and are refused in the end.
 */
export async function handOver(primary: RedisServer, replica: RedisServer): Promise<void> {
  await expectOk(primary, 'CLIENT', 'PAUSE', String(PAUSED_MS), 'WRITE')
  try {
    await eventually(
      'the replica has what its primary has',
      async () => (await offsetOf(replica)) === (await offsetOf(primary)),
    )
    await expectOk(replica, 'REPLICAOF', 'NO', 'ONE')
    await expectOk(primary, 'REPLICAOF', '127.0.0.1', String(replica.port))
  } finally {
    await expectOk(primary, 'CLIENT', 'UNPAUSE')
  }
}

async function offsetOf(server: RedisServer): Promise<string | undefined> {
  const info = await server.command('INFO', 'replication')
  return /master_repl_offset:(\d+)/.exec(info)?.[1]
}

/** @throws Error when the server refuses. */
export async function expectOk(server: RedisServer, ...command: readonly string[]): Promise<void> {
  const reply = await server.command(...command)
  if (!reply.startsWith('+OK')) throw new Error(`${command.join(' ')}: ${reply}`)
}
