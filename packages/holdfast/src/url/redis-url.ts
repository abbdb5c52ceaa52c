/**
 * Parses the URLs of Redis, without a connection:
 *
 *   redis://user:password@host:6379/0                    one server
 *   redis+sentinel://host:26379,host:26379/mymaster/0    the primary that the Sentinels name
 *   redis+cluster://host:6379,host:6379                  a Cluster
 *   redlock://host:6379,host:6379,host:6379              independent servers, by majority
 *   redis+unix://user:password@/run/redis.sock?db=0      one server, through a Unix socket
 *
 * rediss, rediss+sentinel, rediss+cluster and redlocks use TLS, with the options ca, cert, key
 * (files) and serverName. `unix:` means `redis+unix:`, as in redis-py and node-redis. Credentials
 * stand in the URL, in files or in the environment: see `credentialsOf`.
 */
import { LockUsageError } from '../errors.js'
import {
  credentialsOf,
  decode,
  readNamed,
  type Fail,
  type RedisCredentials,
} from './redis-credentials.js'
import { shownOption } from './secrets.js'

/** How the servers of a URL belong together. */
export type RedisKind = 'single' | 'sentinel' | 'cluster' | 'redlock'

/** Where a server listens: at a port, or at the path of a Unix socket. */
export type RedisHost = { readonly host: string; readonly port: number } | { readonly path: string }

/** Returns the host for people. */
export function shownHost(host: RedisHost): string {
  return 'path' in host ? host.path : `${host.host}:${host.port}`
}

/** Certificates for connections to Redis. */
export interface RedisTls {
  readonly ca?: Buffer
  readonly cert?: Buffer
  readonly key?: Buffer
  readonly servername?: string
}

/** A URL of Redis, taken apart. */
export interface RedisTarget {
  readonly kind: RedisKind
  readonly hosts: readonly RedisHost[]
  /** The Sentinels' name for the primary. */
  readonly master?: string
  readonly database: number
  readonly prefix?: string
  readonly tls?: RedisTls
  readonly credentials?: RedisCredentials
  /** Of the Sentinels themselves, which do not share those of the servers. */
  readonly sentinelCredentials?: RedisCredentials
}

type Env = Readonly<Record<string, string | undefined>>

interface Scheme {
  readonly kind: RedisKind
  readonly secure: boolean
  readonly example: string
  readonly isSocket?: boolean
}

const SOCKET: Scheme = {
  kind: 'single',
  secure: false,
  isSocket: true,
  example: 'redis+unix:///run/redis.sock?db=0',
}

const SCHEMES: Readonly<Record<string, Scheme>> = Object.fromEntries<Scheme>([
  ...(
    [
      ['redis', 'single', '://host:6379/0'],
      ['redis+sentinel', 'sentinel', '://sentinel1:26379,sentinel2:26379/mymaster'],
      ['redis+cluster', 'cluster', '://host1:6379,host2:6379'],
      ['redlock', 'redlock', '://host1:6379,host2:6379,host3:6379'],
    ] as const
  ).flatMap(([name, kind, form]) => {
    const secure = name.startsWith('redis') ? name.replace('redis', 'rediss') : `${name}s`
    return [
      [name, { kind, secure: false, example: name + form }],
      [secure, { kind, secure: true, example: secure + form }],
    ] as const
  }),
  ['redis+unix', SOCKET],
  ['unix', SOCKET],
])

/** The schemes that this module reads. */
export const REDIS_SCHEMES: readonly string[] = Object.keys(SCHEMES)

const TLS_FILES = ['ca', 'cert', 'key'] as const
const FEWEST_NODES = 3
const LAST_PORT = 65_535

/**
 * Returns what a URL of Redis says. Credentials may also come from files and the environment.
 * @throws LockUsageError when the URL makes no sense.
 * @throws StoreUnavailableError (`STORE_CONFIG`) when a file that it names cannot be read, or the
 * environment contradicts itself.
 */
export function redisTarget(url: string, env: Env = process.env): RedisTarget {
  const [, name = '', rest = ''] = /^([^:]*):(.*)$/s.exec(url) ?? []
  const scheme = SCHEMES[name.toLowerCase()]
  if (!scheme)
    throw new LockUsageError(
      `This is not a Redis URL. Those begin with ${REDIS_SCHEMES.join(', ')}.`,
    )
  const { kind, secure } = scheme
  // The message does not quote the URL: the mistake may be a password in the wrong place.
  const fail = (what: string): LockUsageError =>
    new LockUsageError(`The Redis URL ${what}. Write one such as ${scheme.example}.`)
  const { user, query, hosts, path } = partsOf(rest, scheme, fail)
  const options = optionsOf(query, scheme, fail)
  const prefix = options.get('prefix')
  const file = options.get('passwordFile')
  const ofServers = { kind: 'REDIS', user: userOf(user, options, fail), file } as const
  const ofSentinels = {
    kind: 'SENTINEL',
    user: undefined,
    file: options.get('sentinelPasswordFile'),
  } as const
  const credentials = credentialsOf(ofServers, env, fail)
  const sentinelCredentials =
    kind === 'sentinel' ? credentialsOf(ofSentinels, env, fail) : undefined
  return {
    kind,
    ...(scheme.isSocket === true
      ? { hosts: [{ path: decode(path, fail) }], database: databaseOf(options.get('db'), fail) }
      : { hosts: hostsOf(hosts, kind, fail), ...placeOf(path, kind, fail) }),
    ...(prefix === undefined ? {} : { prefix }),
    ...(secure ? { tls: tlsOf(options) } : {}),
    ...(credentials === undefined ? {} : { credentials }),
    ...(sentinelCredentials === undefined ? {} : { sentinelCredentials }),
  }
}

/** An unescaped special character hides the end of the password. */
const ESCAPING = 'In a user name or password, escape special characters: / as %2F'

interface Parts {
  readonly user: string | undefined
  readonly hosts: string
  readonly path: string
  readonly query: string
}

function partsOf(rest: string, { isSocket }: Scheme, fail: Fail): Parts {
  // Programs also write the path of a socket without the slashes of an empty host.
  const form =
    isSocket === true
      ? /^(?:\/\/(?:(?<user>[^/?#]*)@)?|(?!\/\/))(?<path>\/[^?#]+)(?:\?(?<query>[^#]*))?$/
      : /^\/\/(?:(?<user>[^/?#]*)@)?(?<hosts>[^@/?#]+)(?<path>\/[^@?#]*)?(?:\?(?<query>[^#]*))?$/
  const groups = form.exec(rest)?.groups
  if (!groups) {
    const what = isSocket === true ? 'names no path of a socket' : 'names no server'
    throw fail(`${what}. ${ESCAPING}`)
  }
  const { user, hosts = '', path = '', query = '' } = groups
  return { user, hosts, path, query }
}

/** Returns the user with the password, which may be an option for a socket. */
function userOf(
  user: string | undefined,
  options: ReadonlyMap<string, string>,
  fail: Fail,
): string | undefined {
  const password = options.get('password')
  if (password === undefined) return user
  if (user?.includes(':') === true) throw fail('has two passwords')
  return `${user ?? ''}:${encodeURIComponent(password)}`
}

function databaseOf(number: string | undefined, fail: Fail): number {
  if (number !== undefined && !/^\d{1,5}$/.test(number)) {
    throw fail('has a db that is not the number of a database')
  }
  return Number(number ?? 0)
}

function hostsOf(text: string, kind: RedisKind, fail: Fail): RedisHost[] {
  const hosts = text.split(',').map((part) => hostOf(part, kind, fail))
  if (kind === 'single' && hosts.length > 1) {
    throw fail(
      'names several servers; for a Cluster write redis+cluster:, for Sentinels redis+sentinel:',
    )
  }
  if (kind === 'redlock') {
    if (hosts.length < FEWEST_NODES) {
      throw fail(`names ${hosts.length} servers, and Redlock needs at least ${FEWEST_NODES}`)
    }
    if (new Set(hosts.map(shownHost)).size < hosts.length) {
      throw fail('names one server twice, and one server must not vote twice')
    }
  }
  return hosts
}

function hostOf(text: string, kind: RedisKind, fail: Fail): RedisHost {
  const [, bracketed, plain = '', digits] =
    /^(?:\[([\da-f:.]+)\]|([^:[\]\s]+))(?::(\d+))?$/i.exec(text) ?? []
  const host = bracketed ?? plain
  const port = digits === undefined ? (kind === 'sentinel' ? 26_379 : 6379) : Number(digits)
  if (host === '' || port < 1 || port > LAST_PORT)
    throw fail(`has no valid host and port. ${ESCAPING}`)
  return { host, port }
}

/** Reads the path: the name of the primary, the number of the database, or nothing. */
function placeOf(path: string, kind: RedisKind, fail: Fail): { master?: string; database: number } {
  const parts = path.split('/').filter((part) => part !== '')
  const master = kind === 'sentinel' ? parts.shift() : undefined
  if (kind === 'sentinel' && master === undefined) throw fail('does not name the primary')
  const [number, ...more] = parts
  if (more.length > 0 || (number !== undefined && !/^\d{1,5}$/.test(number))) {
    throw fail('has a path that is not the number of a database')
  }
  if (kind === 'cluster' && Number(number ?? 0) > 0)
    throw fail('names a database, and a Cluster has only the first')
  return {
    ...(master === undefined ? {} : { master: decode(master, fail) }),
    database: Number(number ?? 0),
  }
}

function optionsOf(
  query: string,
  { kind, secure, isSocket }: Scheme,
  fail: Fail,
): ReadonlyMap<string, string> {
  const known = [
    'prefix',
    'passwordFile',
    ...(kind === 'sentinel' ? ['sentinelPasswordFile'] : []),
    ...(secure ? [...TLS_FILES, 'serverName'] : []),
    ...(isSocket === true ? ['db', 'password'] : []),
  ]
  const options = new Map<string, string>()
  const given = new URLSearchParams(query)
  for (const [name, value] of given) {
    if (!known.includes(name)) {
      throw fail(`has ${shownOption(name, given)}; known here are ${known.join(', ')}`)
    }
    if (options.has(name)) throw fail(`has the option ${name} twice`)
    options.set(name, value)
  }
  return options
}

function tlsOf(options: ReadonlyMap<string, string>): RedisTls {
  const tls: { -readonly [Name in keyof RedisTls]: RedisTls[Name] } = {}
  for (const name of TLS_FILES) {
    const path = options.get(name)
    if (path !== undefined) tls[name] = readNamed(path)
  }
  const servername = options.get('serverName')
  return servername === undefined ? tls : { ...tls, servername }
}
