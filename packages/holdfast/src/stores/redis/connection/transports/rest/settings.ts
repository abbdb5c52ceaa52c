/** Where a Redis server is reached over HTTP, and how. */
import { isWorker } from '../../../../../clock/platform.js'
import { LockUsageError } from '../../../../../errors.js'
import { STORE_NAME } from '../../../errors.js'

/** A `fetch` like that of the platform. */
export type RestFetch = (url: string, init: RequestInit) => Promise<Response>

export interface RestOptions {
  readonly url?: string | undefined
  readonly token?: string | undefined
  readonly fetch?: RestFetch | undefined
  readonly subscribe?: boolean | undefined
}

/** The endpoint of a server, and how it is asked. */
export interface RestSettings {
  /** Without a slash at the end. */
  readonly url: string
  readonly token: string
  readonly fetch: RestFetch
  /** Whether waiters keep a stream of messages open. */
  readonly subscribe: boolean
}

/** A client of `@upstash/redis`, of which the store takes the settings only. */
export interface UpstashClient {
  readonly readYourWritesSyncToken: string | undefined
}

type Env = Readonly<Record<string, string | undefined>>

const URL_VARIABLE = 'UPSTASH_REDIS_REST_URL'
const TOKEN_VARIABLE = 'UPSTASH_REDIS_REST_TOKEN'
/** Where a process or its request ends soon after its answer. */
const SHORT_LIVED = ['AWS_LAMBDA_FUNCTION_NAME', 'VERCEL', 'NETLIFY', 'FUNCTIONS_WORKER_RUNTIME']

/**
 * Returns the settings that the options and the environment make.
 * @throws LockUsageError when they name no endpoint, or make no sense
 */
export function restSettings(options: RestOptions, env: Env = process.env): RestSettings {
  const url = endpointOf(options.url ?? env[URL_VARIABLE])
  const token = options.token ?? tokenFor(url, env)
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) {
    throw usage(`token must be text without blanks. Pass it, or set ${TOKEN_VARIABLE}.`)
  }
  const { subscribe = !isShortLived(env), fetch: own } = options
  if (typeof subscribe !== 'boolean') throw usage('subscribe must be true or false.')
  if (own !== undefined && typeof own !== 'function') throw usage('fetch must be a function.')
  // Found at each call, since frameworks replace it.
  return { url, token, subscribe, fetch: own ?? ((...call) => fetch(...call)) }
}

/** Returns the endpoint without a slash at the end. The error shows no part of it. */
function endpointOf(text: string | undefined): string {
  if (text === undefined || text === '') {
    throw usage(
      `pass a client, or url and token of a Redis over HTTP, or set ${URL_VARIABLE} and ${TOKEN_VARIABLE}.`,
    )
  }
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isEndpoint = url !== undefined && /^https?:$/.test(url.protocol) && url.search === ''
  if (!isEndpoint || url.username !== '' || url.password !== '' || url.hash !== '') {
    throw usage('url must be an endpoint such as https://eu1-name.upstash.io, without a token.')
  }
  return url.href.replace(/\/+$/, '')
}

/** The token of the environment belongs to its endpoint: no other one gets it. */
function tokenFor(url: string, env: Env): string | undefined {
  const place = env[URL_VARIABLE]
  const isOther =
    place !== undefined && place !== '' && URL.canParse(place) && originOf(place) !== originOf(url)
  if (!isOther) return env[TOKEN_VARIABLE]
  throw usage(`the endpoint is not that of ${URL_VARIABLE}, so pass its own token.`)
}

function originOf(url: string): string {
  return new URL(url).origin
}

function isShortLived(env: Env): boolean {
  return isWorker() || SHORT_LIVED.some((name) => env[name] !== undefined)
}

export function isUpstash(client: unknown): client is UpstashClient {
  return typeof client === 'object' && client !== null && 'readYourWritesSyncToken' in client
}

interface Requester {
  readonly baseUrl?: unknown
  readonly headers?: { readonly authorization?: unknown }
}

/**
 * Returns the endpoint and the token of a client. The library sends a failed request again by
 * itself, up to six times, so the store never sends through it.
 * @throws LockUsageError for a client with a requester of its own
 */
export function settingsOfClient(client: UpstashClient): { url: string; token: string } {
  const { client: requester = {} } = client as { readonly client?: Requester }
  const { baseUrl, headers } = requester
  const [, token] = /^Bearer (\S+)$/.exec(String(headers?.authorization)) ?? []
  if (typeof baseUrl === 'string' && baseUrl !== '' && token !== undefined)
    return { url: baseUrl, token }
  throw usage('this client of @upstash/redis shows no url and token. Pass these two instead.')
}

function usage(message: string): LockUsageError {
  return new LockUsageError(`redisStore: ${message}`, { store: STORE_NAME })
}
