/**
 * `https:` and `http:` URLs: a Redis server over HTTP, as `https://:token@name.upstash.io`. The
 * token may also stand in a file (`?tokenFile=`), or in UPSTASH_REDIS_REST_TOKEN.
 */
import { LockUsageError } from '../errors.js'
import type * as redis from '../stores/redis/index.js'
import { owningStore, type OpenedStore } from './owned-store.js'
import { readNamed } from './redis-credentials.js'
import { shownOption } from './secrets.js'

/** What a URL says of a Redis over HTTP. */
export interface RestTarget {
  readonly url: string
  readonly token?: string
  readonly prefix?: string
}

export async function openRedisOverHttp(text: string): Promise<OpenedStore> {
  const { redisStore } = require('../stores/redis/index.js') as typeof redis
  return owningStore(redisStore(restTarget(text)))
}

/**
 * Returns what a URL says.
 * @throws LockUsageError when it makes no sense. The message shows no part of it.
 * @throws StoreUnavailableError (`STORE_CONFIG`) when the file of the token cannot be read
 */
export function restTarget(text: string): RestTarget {
  if (!URL.canParse(text)) throw fail('names no endpoint')
  const url = new URL(text)
  const options = url.searchParams
  for (const name of options.keys())
    if (name !== 'prefix' && name !== 'tokenFile')
      throw fail(`has ${shownOption(name, options)}; known here are prefix, tokenFile`)
  const file = options.get('tokenFile')
  const own = decoded(url.password)
  if (own !== '' && file !== null) throw fail('has a token and names a file of one')
  if (url.username !== '' && own === '') throw fail('has a token without a colon before it')
  const token = file === null ? own : readNamed(file).toString('utf8').trim()
  const prefix = options.get('prefix')
  return {
    url: url.origin + url.pathname,
    ...(token === '' ? {} : { token }),
    ...(prefix === null ? {} : { prefix }),
  }
}

function fail(what: string): LockUsageError {
  return new LockUsageError(
    `The URL of Redis over HTTP ${what}. Write one such as https://:token@name.upstash.io.`,
  )
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw fail('has a % that starts no escape; write it as %25')
  }
}
