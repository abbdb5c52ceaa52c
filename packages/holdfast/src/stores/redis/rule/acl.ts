/** The rights that the store needs, as a rule of the server's ACL. */
import { LockUsageError } from '../../../errors.js'
import { checkKeys, type KnownKeys } from '../../../options/known-keys.js'
import { STORE_NAME } from '../errors.js'
import { isPrefix, LONGEST_PREFIX } from '../keys.js'

/**
 * What the scripts call; a test compares it with them. A user needs the right to each of these for
 * itself.
 */
export const SCRIPT_COMMANDS: readonly string[] = [
  'get',
  'hdel',
  'hexists',
  'hget',
  'hset',
  'hsetnx',
  'hvals',
  'pexpire',
  'set',
  'time',
  'zadd',
  'zcard',
  'zcount',
  'zrange',
  'zrem',
  'zremrangebyrank',
  'zremrangebyscore',
  'zscore',
]

/** Client libraries look at the server when they connect, and give the connection a name. */
const LIBRARY_COMMANDS = ['info', 'client|setname']
/** They also say who they are, where the server knows the command. */
const LIBRARY_COMMANDS_SINCE_7_2 = ['client|setinfo']
/** What a client library needs to find its way in a Cluster, and the channels of its slots. */
const CLUSTER_COMMANDS = [
  'cluster|slots',
  'cluster|shards',
  'cluster|nodes',
  'cluster|info',
  'asking',
  'readonly',
]
const CLUSTER_PUBLISHING = ['spublish', 'ssubscribe', 'sunsubscribe']

/** What the store is used for, which decides the rights that it needs. */
export interface AclNeeds {
  /** The version of the server, such as `7.0.15`. */
  readonly version: string
  /** Stands before every key and channel. Default `hf`. */
  readonly prefix?: string | undefined
  /** Whether the server is part of a Cluster. Default false. */
  readonly cluster?: boolean | undefined
  /** The number of the database that the client is in. Default 0. */
  readonly database?: number | undefined
}

/**
 * The least that a user must be allowed to, as what stands behind `ACL SETUSER name on >password`.
 * @throws LockUsageError for a version that has no ACL, a prefix that no store takes, or a key that
 * there is not
 */
export function aclRule(needs: AclNeeds): string {
  checkNeeds(needs)
  const { version, prefix = 'hf', cluster = false, database = 0 } = needs
  const [major = 0, minor = 0] = checkedVersion(version)
  checkPrefix(prefix)
  const keys = `~${prefix}:*`
  const hasChannels = major > 6 || minor >= 2
  const ofLibrary = [
    ...LIBRARY_COMMANDS,
    ...(major > 7 || (major === 7 && minor >= 2) ? LIBRARY_COMMANDS_SINCE_7_2 : []),
  ]
  const ofPlace = [...(cluster ? CLUSTER_COMMANDS : []), ...(database === 0 ? [] : ['select'])]
  const publishing = cluster ? CLUSTER_PUBLISHING : ['publish', 'subscribe']
  const ofStore = ['eval', 'evalsha', 'scan', ...publishing, ...SCRIPT_COMMANDS]
  const commands = [...ofLibrary, ...ofPlace, ...ofStore]
  return [
    'resetkeys',
    keys,
    ...(hasChannels ? ['resetchannels', `&${prefix}:*`] : []),
    '-@all',
    ...commands.map((name) => `+${name}`),
  ].join(' ')
}

/** Returns the numbers of a version that has ACLs. */
function checkedVersion(version: string): readonly number[] {
  const numbers = version.split('.').map(Number)
  if (numbers[0] !== undefined && numbers[0] >= 6) return numbers
  throw new LockUsageError(
    `Redis ${version} has no ACL: those came with 6.0. There a password opens everything.`,
    { store: STORE_NAME },
  )
}

/** A star within a prefix would widen the rule, and so would a blank. */
function checkPrefix(prefix: string): void {
  if (isPrefix(prefix)) return
  throw new LockUsageError(
    `aclRule: prefix must be 1 to ${LONGEST_PREFIX} letters, digits, "-", "_", "." or ":".`,
    { store: STORE_NAME },
  )
}

const KEYS: KnownKeys<AclNeeds> = { version: 1, prefix: 1, cluster: 1, database: 1 }

function checkNeeds(needs: AclNeeds): void {
  checkKeys('aclRule', needs, KEYS, { store: STORE_NAME })
  if (typeof needs.version === 'string') return
  throw new LockUsageError(
    'aclRule needs the version of the server, such as { version: "7.0.15" }.',
    { store: STORE_NAME },
  )
}
