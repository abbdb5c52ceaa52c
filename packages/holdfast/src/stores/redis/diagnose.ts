/**
 * What there is to know about a server before locks are trusted to it. For `holdfast doctor`, and
 * for operators' own checks.
 */
import { systemClock } from '../../clock/clock.js'
import { isLockError, LockUsageError } from '../../errors.js'
import { checkKeys, type KnownKeys } from '../../options/known-keys.js'
import type { RedisClient } from './connection/clients.js'
import { explain, isForeign, STORE_NAME } from './errors.js'
import { lockOf, patternOf } from './keys.js'
import { ResilientCaller } from './connection/resilient-caller.js'
import { clusterTransportOf, transportOf } from './connection/open.js'
import { textOf } from './wire/answers.js'
import { RedisStore } from './store.js'
import { requestsOf } from './verbs/requests.js'

/** What `doctor` reports about a Redis server. */
export interface RedisDiagnosis {
  /** `redis`, `valkey`, or the name that another server gives itself. */
  readonly product: string
  readonly version: string
  /** `standalone`, `sentinel` or `cluster`. */
  readonly mode: string
  readonly role: string
  /** What the server does when it is full; `noeviction` alone keeps locks. */
  readonly evictionPolicy: string | undefined
  /** How much memory it may use, in bytes; 0 for all there is. */
  readonly maxMemoryBytes: number
  /** Keys that were thrown away for want of room. */
  readonly evictedKeys: number
  readonly appendOnly: boolean
  /** When the append-only file is written through; undefined where the user may not ask. */
  readonly appendFsync: string | undefined
  /** When snapshots are made, such as `3600 1 300 100`; undefined where the user may not ask. */
  readonly snapshots: string | undefined
  /** Whether the last attempts to save went well. */
  readonly savesWell: boolean
  /** Replicas that follow now. */
  readonly replicas: number
  /** Replicas without which the server takes no writes; undefined where the user may not ask. */
  readonly minReplicas: number | undefined
  /** How far the server's clock is ahead of this machine's, give or take half the round trip. */
  readonly clockOffsetMs: number
  readonly roundTripMs: number
  /**
   * Keys under the prefix that are none of ours, a few of them. A replica is not searched: its
   * primary has the same.
   */
  readonly foreignKeys: readonly string[]
  /** What this user may not look at, and what was not seen therefore. */
  readonly denied: readonly string[]
}

/** The server that `diagnose` looks at. */
export interface DiagnoseOptions {
  /** Of one server; a member of a Cluster is asked through a client of its own. */
  readonly client: RedisClient
  readonly prefix?: string | undefined
  readonly requestTimeoutMs?: number | undefined
}

const KEYS: KnownKeys<DiagnoseOptions> = { client: 1, prefix: 1, requestTimeoutMs: 1 }

const MOST_FOREIGN = 20
const SCAN_COUNT = '1000'
/** How many locks are examined on a server that has more. */
const MOST_LOCKS = 10_000
const LOOKED_AT_TOGETHER = 64

/**
 * Returns what `doctor` reports about a server.
 * @throws StoreUnavailableError when the server does not answer, or refuses this user.
 * @throws LockUsageError for a Cluster.
 */
export async function diagnose(options: DiagnoseOptions): Promise<RedisDiagnosis> {
  checkKeys('diagnose', options, KEYS, { store: STORE_NAME })
  const { client, prefix = 'hf', requestTimeoutMs = 5000 } = options
  if (clusterTransportOf(client)) {
    throw new LockUsageError('diagnose: client must be that of one server, not of a Cluster.', {
      store: STORE_NAME,
    })
  }
  const transport = transportOf(client)
  const caller = new ResilientCaller(transport, requestTimeoutMs)
  const store = new RedisStore(requestsOf({ client, prefix, requestTimeoutMs }))
  const denied: string[] = []
  const ask: Ask = async (...words) => {
    try {
      return await caller.call(() => transport.command(...words))
    } catch (error) {
      if (!isLockError(error) || !/NOPERM|unknown (sub)?command/i.test(error.message)) throw error
      denied.push(words.slice(0, words[0] === 'CONFIG' ? 3 : 1).join(' '))
      return undefined
    }
  }
  try {
    const facts = factsOf(await ask('INFO'))
    return {
      ...facts,
      ...(await settings(ask)),
      ...(await clock(ask)),
      // To look at a lock may write, which a replica refuses, and one in a Cluster refuses even to
      // look.
      foreignKeys:
        facts.role === 'slave' ? [] : await foreignKeys(store, ask, transport.keyPrefix + prefix),
      denied,
    }
  } catch (error) {
    throw explain(error)
  } finally {
    store.close()
    caller.close()
  }
}

/** Asks the server; undefined where this user may not. */
type Ask = (name: string, ...args: string[]) => Promise<unknown>

type Facts = Omit<
  RedisDiagnosis,
  | 'appendFsync'
  | 'snapshots'
  | 'minReplicas'
  | 'clockOffsetMs'
  | 'roundTripMs'
  | 'foreignKeys'
  | 'denied'
>

function factsOf(reply: unknown): Facts {
  const lines = reply === undefined ? [] : textOf(reply).split('\r\n')
  const info = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon), line.slice(colon + 1)] as const
    }),
  )
  const product = info.get('server_name') ?? (info.has('valkey_version') ? 'valkey' : 'redis')
  const ended = (name: string): boolean => (info.get(name) ?? 'ok') === 'ok'
  return {
    product,
    version: info.get(`${product}_version`) ?? info.get('redis_version') ?? 'unknown',
    mode: info.get('redis_mode') ?? info.get('server_mode') ?? 'unknown',
    role: info.get('role') ?? 'unknown',
    evictionPolicy: info.get('maxmemory_policy'),
    maxMemoryBytes: Number(info.get('maxmemory') ?? 0),
    evictedKeys: Number(info.get('evicted_keys') ?? 0),
    appendOnly: info.get('aof_enabled') === '1',
    savesWell: ended('rdb_last_bgsave_status') && ended('aof_last_write_status'),
    replicas: Number(info.get('connected_slaves') ?? 0),
  }
}

async function settings(
  ask: Ask,
): Promise<Pick<RedisDiagnosis, 'appendFsync' | 'snapshots' | 'minReplicas'>> {
  const least = await settingOf(ask, 'min-replicas-to-write')
  return {
    appendFsync: await settingOf(ask, 'appendfsync'),
    snapshots: await settingOf(ask, 'save'),
    minReplicas: least === undefined ? undefined : Number(least),
  }
}

/** The libraries give pairs as a list, as a map or as an object. */
async function settingOf(ask: Ask, name: string): Promise<string | undefined> {
  const reply = await ask('CONFIG', 'GET', name)
  let value: unknown
  if (Array.isArray(reply)) value = reply[1]
  else if (reply instanceof Map) value = reply.get(name)
  else if (typeof reply === 'object' && reply !== null) value = Object.entries(reply)[0]?.[1]
  return value === undefined || value === null ? undefined : textOf(value)
}

/** Uses the quickest of a few round trips. */
async function clock(ask: Ask): Promise<Pick<RedisDiagnosis, 'clockOffsetMs' | 'roundTripMs'>> {
  let best = { clockOffsetMs: NaN, roundTripMs: Infinity }
  for (let tries = 0; tries < 5; tries += 1) {
    const [startedMs, wallMs] = [systemClock.monotonicMs(), systemClock.wallMs()]
    const reply = await ask('TIME')
    if (!Array.isArray(reply)) return { clockOffsetMs: NaN, roundTripMs: NaN }
    const roundTripMs = systemClock.monotonicMs() - startedMs
    const serverMs = Number(textOf(reply[0])) * 1000 + Number(textOf(reply[1])) / 1000
    if (roundTripMs < best.roundTripMs)
      best = { clockOffsetMs: serverMs - wallMs - roundTripMs / 2, roundTripMs }
  }
  return best
}

async function foreignKeys(store: RedisStore, ask: Ask, fullPrefix: string): Promise<string[]> {
  const found: string[] = []
  let cursor = '0'
  let looked = 0
  do {
    const reply = await ask('SCAN', cursor, 'MATCH', patternOf(fullPrefix, ''), 'COUNT', SCAN_COUNT)
    if (!Array.isArray(reply)) return found
    const [next, keys] = reply as [unknown, unknown[]]
    const heads = keys.map(textOf).filter((key) => lockOf(fullPrefix, key) !== undefined)
    for (let start = 0; start < heads.length; start += LOOKED_AT_TOGETHER) {
      const some = heads.slice(start, start + LOOKED_AT_TOGETHER)
      const foreign = await Promise.all(
        some.map((key) => isForeignKey(store, lockOf(fullPrefix, key) ?? '')),
      )
      found.push(...some.filter((_, index) => foreign[index]))
    }
    looked += heads.length
    cursor = textOf(next)
  } while (cursor !== '0' && found.length < MOST_FOREIGN && looked < MOST_LOCKS)
  return found.slice(0, MOST_FOREIGN)
}

async function isForeignKey(store: RedisStore, lock: string): Promise<boolean> {
  try {
    await store.inspect([lock])
    return false
  } catch (error) {
    // The slot of a key may have moved to another member of the Cluster meanwhile, where it is
    // looked at again.
    if (isLockError(error) && error.code === 'STORE_CONFIG') return isForeign(error)
    throw error
  }
}
