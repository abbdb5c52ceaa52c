/** What the command learns about its lock through its environment. */
import { redact } from '../output/text.js'
import type { StoreLocation } from '../stores/locate.js'

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
    HOLDFAST_LOCK_NAME: facts.name,
    HOLDFAST_OWNER: facts.claimId,
    HOLDFAST_STORE: storeFor(inherited, facts.store),
    // Undefined takes an inherited token away: that one belongs to another lock.
    HOLDFAST_TOKEN: facts.token?.toString(),
    HOLDFAST_TTL_MS: String(facts.ttlMs),
  }
}

/**
 * A password on our command line was not meant for the command, nor for those who read /proc. It is passed on only
 * when the command would have inherited it anyway.
 */
function storeFor(inherited: Env, store: StoreLocation): string {
  return inherited['HOLDFAST_STORE'] === store.url ? store.url : withoutCredentials(store.url)
}

/** The URL as it still works for those who have credentials of their own. */
export function withoutCredentials(url: string): string {
  if (redact(url) === url) return url
  const bare = url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^\s]*@/i, '$1')
  const [address = '', query] = bare.split('?', 2)
  const kept = (query ?? '').split('&').filter((pair) => pair !== '' && redact(`?${pair}`) === `?${pair}`)
  return kept.length === 0 ? address : `${address}?${kept.join('&')}`
}
