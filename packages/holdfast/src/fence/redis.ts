/** A resource in Redis that refuses late tokens. */
import { LockUsageError } from '../errors.js'
import {
  isIoRedis,
  isIoRedisCluster,
  isNodeRedis,
  isNodeRedisCluster,
  isNodeRedisSentinel,
  type RedisClient,
} from '../stores/redis/clients.js'
import { explain, isUnknownScript } from '../stores/redis/errors.js'
import { keyOf } from '../stores/redis/keys.js'
import { clusterTransportOf, transportOf } from '../stores/redis/open.js'
import { fence } from '../stores/redis/scripts.generated.js'

/** One command of Redis and its arguments, with complete keys. */
export type RedisCommand = readonly [name: string, ...args: string[]]

export function isRedis(client: unknown): client is RedisClient {
  if (typeof client !== 'object' || client === null) return false
  const redis = client as RedisClient
  if (isIoRedisCluster(redis) || isNodeRedisCluster(redis) || isNodeRedisSentinel(redis)) return true
  return 'duplicate' in client && (isIoRedis(redis) || isNodeRedis(redis))
}

/** The replies of the commands; undefined when the token is stale. Rejects with a `LockError`. */
export async function fencedInRedis(
  client: RedisClient,
  [resource, token, owner]: readonly [resource: string, token: string, owner: string],
  commands: readonly RedisCommand[],
  prefix = 'hf',
): Promise<readonly unknown[] | undefined> {
  const send = senderOf(client, keyOf(`${prefix}:fence`, resource))
  const args = [token, owner, ...commands.flatMap((command) => [String(command.length), ...command])]
  try {
    const replies = await send('hash', args).catch((error: unknown) => {
      if (isUnknownScript(error)) return send('source', args)
      throw error
    })
    return Array.isArray(replies) ? replies : undefined
  } catch (error) {
    throw explain(error)
  }
}

type Sender = (by: 'hash' | 'source', args: readonly string[]) => Promise<unknown>

/**
 * Runs the script of the fence on a key. In a Cluster through the caller's own client, which finds the member by the key:
 * connections to each, as a store has them, would be much for one call.
 */
function senderOf(client: RedisClient, key: string): Sender {
  const command = (by: 'hash' | 'source'): [name: string, text: string, keys: string] =>
    by === 'hash' ? ['EVALSHA', fence.sha, '1'] : ['EVAL', fence.source, '1']
  if (isIoRedisCluster(client)) {
    // The library puts its prefix before the key itself.
    return (by, args) => client.call(...command(by), key, ...args)
  }
  if (isNodeRedisCluster(client)) {
    const complete = `${clusterTransportOf(client)?.keyPrefix ?? ''}${key}`
    return (by, args) => client.sendCommand(complete, false, [...command(by), complete, ...args])
  }
  const transport = transportOf(client)
  return (by, args) => transport.run(by, fence, [key], args)
}

/** @throws LockUsageError for anything else than lists of text. */
export function checkCommands(commands: unknown): void {
  if (Array.isArray(commands) && commands.every(isCommand)) return
  throw new LockUsageError("fencedWrite needs commands as lists of text, such as [['SET', 'stock:9', '41']].")
}

function isCommand(command: unknown): boolean {
  return Array.isArray(command) && command.length > 0 && command.every((word) => typeof word === 'string')
}
