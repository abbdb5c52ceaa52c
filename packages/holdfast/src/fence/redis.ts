/** A resource in Redis that refuses late tokens. */
import { randomUUID } from 'node:crypto'
import { systemClock } from '../clock/clock.js'
import { withTimeout } from '../clock/with-timeout.js'
import { LockUsageError, StoreUnavailableError } from '../errors.js'
import {
  isIoRedis,
  isIoRedisCluster,
  isNodeRedis,
  isNodeRedisCluster,
  isNodeRedisSentinel,
  type RedisClient,
} from '../stores/redis/connection/clients.js'
import {
  explain,
  isOfState,
  isServerError,
  isUnknownScript,
  STORE_NAME,
  withRights,
} from '../stores/redis/errors.js'
import { slotOf } from '../stores/redis/connection/cluster/slots.js'
import { keyOf } from '../stores/redis/keys.js'
import { clusterTransportOf, transportOf } from '../stores/redis/connection/open.js'
import { RestTransport } from '../stores/redis/connection/transports/rest/rest.js'
import {
  isUpstash,
  restSettings,
  settingsOfClient,
  type UpstashClient,
} from '../stores/redis/connection/transports/rest/settings.js'
import type {
  ClusterTransport,
  Transport,
} from '../stores/redis/connection/transports/transport.js'
import { textOf } from '../stores/redis/wire/answers.js'
import { fenceCheck } from '../stores/redis/rule/scripts.generated.js'

/** How long the server may take. The libraries wait forever, or as long as their settings say. */
const LIMIT_MS = 5000
/** Lua passes on at most 8 000 values at once, less what else it has at hand. */
const MOST_WORDS = 7900

/** The script's answer to a call that it has done before. */
const SENT_TWICE = 1

/** One command of Redis and its arguments, with complete keys. */
export type RedisCommand = readonly [name: string, ...args: string[]]

/** A client of Redis, also of one over HTTP. */
export type FenceClient = RedisClient | UpstashClient

export function isRedis(client: unknown): client is FenceClient {
  if (typeof client !== 'object' || client === null) return false
  if (isUpstash(client)) return true
  const redis = client as RedisClient
  if (isIoRedisCluster(redis) || isNodeRedisCluster(redis) || isNodeRedisSentinel(redis))
    return true
  return 'duplicate' in client && (isIoRedis(redis) || isNodeRedis(redis))
}

export interface RedisFence {
  /** The lock that the token was given for, named in errors. */
  readonly lock: string
  readonly prefix?: string | undefined
  /** The keys of the commands. */
  readonly keys?: readonly string[] | undefined
}

/**
 * Resolves to the replies of the commands, or to undefined when the token is stale. Rejects with a
 * `LockError`.
 */
export async function fencedInRedis(
  client: FenceClient,
  [resource, token, owner]: readonly [resource: string, token: string, owner: string],
  commands: readonly RedisCommand[],
  { lock, prefix = 'hf', keys }: RedisFence,
): Promise<readonly unknown[] | undefined> {
  const key = keyOf(`${prefix}:fence`, resource)
  // A check may be repeated. Commands may not, so such a call has an id of its own.
  const isWrite = commands.length > 0
  const own = isWrite ? [key, `${key}:c`] : [key]
  const words = commands.flatMap((command) => [String(command.length), ...command])
  const args = (): string[] => [token, owner, ...(isWrite ? [randomUUID(), ...words] : [])]
  const server = serverOf(client, prefix)
  const place = { lock, start: server.keyPrefix + prefix }
  const ask = (): Promise<string[]> => within(keysOf(server, commands), place)
  // Over HTTP the server may be one that refuses keys which a call does not declare. In a Cluster
  // the commands before one with a key elsewhere would be done.
  const asksFirst = isWrite && (isUpstash(client) || server.isCluster)
  const given = keys ?? (asksFirst ? await ask() : [])
  if (server.isCluster) assertOneSlot(given, server.keyPrefix + key, lock)
  let replies = await run(server, [...own, ...declared(server, given)], args(), place)
  if (keys === undefined && refusesFirst(replies)) {
    // Nothing was done. The server wants to know which keys the commands touch.
    replies = await run(server, [...own, ...declared(server, await ask())], args(), place)
  }
  if (Array.isArray(replies)) return replies
  if (Number(replies) === SENT_TWICE) throw sentTwice(lock)
  const failure = /^(\d+) (.*)$/s.exec(textOf(replies))
  if (failure) throw failedCommand(Number(failure[1]), failure[2] ?? '', commands.length, lock)
  return undefined
}

/**
 * Only a call that the server has refused to begin is sent a second time. A call that a client
 * library sends again by itself is known by its id.
 */
function run(
  { send }: FenceServer,
  keys: readonly string[],
  args: readonly string[],
  place: Place,
): Promise<unknown> {
  return within(
    send('hash', keys, args).catch((error: unknown) => {
      if (isUnknownScript(error)) return send('source', keys, args)
      throw error
    }),
    place,
  )
}

/** Whether the first command was refused since its key was not declared. */
function refusesFirst(replies: unknown): boolean {
  return !Array.isArray(replies) && /^1 .*undeclared key/s.test(textOf(replies))
}

/** The client puts its prefix before declared keys; those of commands are complete. */
function declared({ keyPrefix }: FenceServer, keys: readonly string[]): string[] {
  return keys.flatMap((key) => (key.startsWith(keyPrefix) ? key.slice(keyPrefix.length) : []))
}

/** @throws LockUsageError where a script cannot reach a key together with that of the resource. */
function assertOneSlot(keys: readonly string[], own: string, lock: string): void {
  const elsewhere = keys.find((key) => slotOf(key) !== slotOf(own))
  if (elsewhere === undefined) return
  throw new LockUsageError(
    `fencedWrite: the key ${JSON.stringify(elsewhere)} is in another slot of the Cluster than the resource. ` +
      'Nothing was written. Put the name of the resource in braces into each key, as in {stock:9}:count.',
    { lock, store: STORE_NAME },
  )
}

/** Asks the server which keys the commands have. */
async function keysOf(
  { command: ask }: FenceServer,
  commands: readonly RedisCommand[],
): Promise<string[]> {
  const found = commands.map(async (command) => {
    try {
      const keys = await ask('COMMAND', 'GETKEYS', ...command)
      return (keys as unknown[]).map(textOf)
    } catch (error) {
      // A command without keys is refused, and so is one that the script will report.
      if (isServerError(error)) return []
      throw error
    }
  })
  return [...new Set((await Promise.all(found)).flat())]
}

/** What errors name. */
interface Place {
  readonly lock: string
  /** What stands before each key of the fence. */
  readonly start: string
}

function within<T>(work: Promise<T>, { lock, start }: Place): Promise<T> {
  return withTimeout(work, LIMIT_MS, () => silent(lock)).catch((error: unknown) => {
    throw withRights(explain(error, lock), start)
  })
}

function silent(lock: string): StoreUnavailableError {
  return new StoreUnavailableError(
    `Redis: No answer within ${LIMIT_MS} ms. Whether the token was noted and the commands were done is unknown, and they may ` +
      'still be done later. Check that the server runs and can be reached, and look at what is there before you write again.',
    { store: STORE_NAME, lock },
  )
}

function sentTwice(lock: string): StoreUnavailableError {
  return new StoreUnavailableError(
    'Redis: The connection broke before the answer came, and the client library sent the commands again. The server had got them ' +
      'the first time, and has not done them twice; what they answered is lost. Look at what is there before you write again.',
    { store: STORE_NAME, lock },
  )
}

function failedCommand(number: number, answer: string, count: number, lock: string): Error {
  const before =
    number === 1 ? 'Nothing was written but the token' : 'What the commands before it wrote stays'
  const behind = number < count ? ', and those behind it were not done' : ''
  const text =
    `fencedWrite: command ${number} of ${count} failed under the lease on "${lock}": ${answer}. ` +
    `${before}${behind}.`
  // Such as OOM: the command is none the worse for it.
  if (isOfState(answer)) {
    return new StoreUnavailableError(`${text} Look at the server.`, { lock, store: STORE_NAME })
  }
  return new LockUsageError(
    `${text} Mend the command, or look at what its key holds; in a Cluster its keys must be in the slot of the resource.`,
    { lock, store: STORE_NAME },
  )
}

/** What the fence needs of a server. */
interface FenceServer {
  readonly isCluster: boolean
  /** The client's own prefix, which stands before every key. */
  readonly keyPrefix: string
  /** Runs the script of the fence. The keys are without the prefix. */
  readonly send: (
    by: 'hash' | 'source',
    keys: readonly string[],
    args: readonly string[],
  ) => Promise<unknown>
  /** Sends a command that names no keys. */
  readonly command: (name: string, ...args: string[]) => Promise<unknown>
}

/**
 * Returns the server of a client. In a Cluster the caller's own client runs the script, and finds
 * the member by the first key. A store has connections to each member, which would be much for one
 * call.
 */
function serverOf(client: FenceClient, prefix: string): FenceServer {
  if (isUpstash(client)) return overHttp(client, prefix)
  const members = clusterTransportOf(client)
  const transport = members ?? transportOf(client)
  const { keyPrefix } = transport
  const command: FenceServer['command'] = (...words) => transport.command(...words)
  const isCluster = members !== undefined
  return { isCluster, keyPrefix, command, send: senderOf(client, transport) }
}

function overHttp(client: UpstashClient, prefix: string): FenceServer {
  const transport = new RestTransport({
    ...restSettings(settingsOfClient(client)),
    requestTimeoutMs: LIMIT_MS,
    prefix,
    clock: systemClock,
  })
  return {
    isCluster: false,
    keyPrefix: '',
    command: (...words) => transport.command(...words),
    send: (by, keys, args) => transport.run(by, fenceCheck, keys, args),
  }
}

function senderOf(
  client: RedisClient,
  transport: ClusterTransport | Transport,
): FenceServer['send'] {
  if (isIoRedisCluster(client)) {
    // The library puts its prefix before the keys itself.
    return (by, keys, args) => client.call(...beginning(by), String(keys.length), ...keys, ...args)
  }
  if (isNodeRedisCluster(client)) {
    return (by, keys, args) => {
      const complete = keys.map((key) => transport.keyPrefix + key)
      const count = String(keys.length)
      return client.sendCommand(complete[0], false, [...beginning(by), count, ...complete, ...args])
    }
  }
  return (by, keys, args) => (transport as Transport).run(by, fenceCheck, keys, args)
}

function beginning(by: 'hash' | 'source'): [name: string, text: string] {
  return by === 'hash' ? ['EVALSHA', fenceCheck.sha] : ['EVAL', fenceCheck.source]
}

/** @throws LockUsageError for anything else than lists of text. */
export function checkCommands(commands: unknown): void {
  if (!Array.isArray(commands) || !commands.every(isCommand)) {
    throw new LockUsageError(
      "fencedWrite needs commands as lists of text, such as [['SET', 'stock:9', '41']].",
    )
  }
  if ((commands as RedisCommand[]).every(({ length }) => length <= MOST_WORDS)) return
  throw new LockUsageError(
    `fencedWrite: a command has more than ${MOST_WORDS} words, which a script cannot pass on. Make several of it.`,
  )
}

/** @throws LockUsageError for anything else than a list of text. */
export function checkKeyNames(keys: unknown): void {
  if (Array.isArray(keys) && keys.every((key) => typeof key === 'string')) return
  throw new LockUsageError("fencedWrite needs keys as a list of text, such as ['stock:9'].")
}

function isCommand(command: unknown): boolean {
  return (
    Array.isArray(command) &&
    command.length > 0 &&
    command.every((word) => typeof word === 'string')
  )
}
