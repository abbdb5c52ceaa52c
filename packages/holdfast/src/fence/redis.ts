/** A resource in Redis that refuses late tokens. */
import { LockUsageError } from '../errors.js'
import { isIoRedis, isNodeRedis, type RedisClient } from '../stores/redis/clients.js'
import { explain, isUnknownScript } from '../stores/redis/errors.js'
import { keyOf } from '../stores/redis/keys.js'
import { transportOf } from '../stores/redis/open.js'
import { fence } from '../stores/redis/scripts.generated.js'

/** One command of Redis and its arguments, with complete keys. */
export type RedisCommand = readonly [name: string, ...args: string[]]

export function isRedis(client: unknown): client is RedisClient {
  if (typeof client !== 'object' || client === null) return false
  return 'duplicate' in client && (isIoRedis(client as RedisClient) || isNodeRedis(client as RedisClient))
}

/** The replies of the commands; undefined when the token is stale. Rejects with a `LockError`. */
export async function fencedInRedis(
  client: RedisClient,
  [resource, token, owner]: readonly [resource: string, token: string, owner: string],
  commands: readonly RedisCommand[],
  prefix = 'hf',
): Promise<readonly unknown[] | undefined> {
  const transport = transportOf(client)
  const keys = [keyOf(`${prefix}:fence`, resource)]
  const args = [token, owner, ...commands.flatMap((command) => [String(command.length), ...command])]
  try {
    const replies = await transport.run('hash', fence, keys, args).catch((error: unknown) => {
      if (isUnknownScript(error)) return transport.run('source', fence, keys, args)
      throw error
    })
    return Array.isArray(replies) ? replies : undefined
  } catch (error) {
    throw explain(error)
  }
}

/** @throws LockUsageError for anything else than lists of text. */
export function checkCommands(commands: unknown): void {
  if (Array.isArray(commands) && commands.every(isCommand)) return
  throw new LockUsageError("fencedWrite needs commands as lists of text, such as [['SET', 'stock:9', '41']].")
}

function isCommand(command: unknown): boolean {
  return Array.isArray(command) && command.length > 0 && command.every((word) => typeof word === 'string')
}
