/** Builds the environment of the command, which describes its lock. */
import { resolve } from 'node:path'
import { withoutCredentials } from '../../url/secrets.js'
import type { StoreLocation } from '../stores/locate.js'
import { heldAbove, heldText } from './held-above.js'

type Env = Readonly<Record<string, string | undefined>>

export interface LockFacts {
  readonly name: string
  readonly claimId: string
  readonly token: bigint | undefined
  readonly ttlMs: number
  readonly store: StoreLocation
}

export function childEnv(inherited: Env, facts: LockFacts): Record<string, string | undefined> {
  return {
    ...inherited,
    ...absoluteFiles(inherited),
    HOLDFAST_HELD: heldText([
      ...heldAbove(inherited),
      { lock: facts.name, claimId: facts.claimId },
    ]),
    HOLDFAST_LOCK_NAME: facts.name,
    HOLDFAST_OWNER: facts.claimId,
    // Another folder that the command goes to may have no client library, or another one.
    ...(facts.store.modules === undefined ? {} : { HOLDFAST_MODULES: facts.store.modules }),
    HOLDFAST_STORE: storeFor(inherited, facts.store),
    // Undefined removes an inherited token, which belongs to another lock.
    HOLDFAST_TOKEN: facts.token?.toString(),
    HOLDFAST_TTL_MS: String(facts.ttlMs),
  }
}

const FILES = ['HOLDFAST_REDIS_PASSWORD_FILE', 'HOLDFAST_SENTINEL_PASSWORD_FILE']

/** The command may change its folder before it starts an inner run. */
function absoluteFiles(inherited: Env): Record<string, string> {
  const absolute: Record<string, string> = {}
  for (const name of FILES) {
    const path = inherited[name]
    if (path !== undefined && path !== '') absolute[name] = resolve(path)
  }
  return absolute
}

/**
 * Returns the URL for the command. A password from `--store` is not meant for the command, nor for
 * readers of /proc. It stays only when the command inherits it anyway.
 */
function storeFor(inherited: Env, store: StoreLocation): string {
  const isInherited = store.source === 'HOLDFAST_STORE' || inherited['HOLDFAST_STORE'] === store.url
  return isInherited ? store.url : withoutCredentials(store.url)
}
