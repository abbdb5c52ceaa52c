/** What the scripts of one call can reach, and the grants that they publish at its end. */
import type { LockState, RuleStep } from 'holdfast/internal'
import type { Runtime } from '../runtime.js'
import type { TokenLog } from '../redlock/token-log.js'
import type { Truth } from '../server/truth.js'
import type { CommonTombstones } from './tombstones.js'

/** What a script can reach. */
export interface Keyspace {
  readonly rule: Runtime['rule']
  readonly truth: Truth
  readonly tokens: TokenLog
  /** Where each waiter listens: it is kept with the waiter. */
  readonly channels: Map<string, string>
  /** The claim whose lease each adopter took. */
  readonly predecessors: Map<string, string>
  /** The token that the client of this call proposes to several servers. */
  proposed: number | undefined
  tombstones(key: string): CommonTombstones
  begin(key: string): { readonly state: LockState; readonly step: RuleStep }
  publish(channel: string, text: string): void
}

export function publishPromoted(space: Keyspace, key: string): void {
  const wakes = new Map<string, string[]>()
  collectWakes(space, key, wakes, undefined)
  publishAll(space, wakes)
}

/** Notes for each channel who has become a holder. */
export function collectWakes(
  space: Keyspace,
  key: string,
  wakes: Map<string, string[]>,
  asking: string | undefined,
): void {
  for (const { id, token, tokens, ttlMs } of space.begin(key).step.promoted.splice(0)) {
    space.truth.reserved(id, { token: BigInt(token), tokens })
    if (id === asking) continue
    const channel = space.channels.get(id) ?? ''
    const lines = wakes.get(channel) ?? []
    lines.push(`${id} ${token} ${tokens} ${ttlMs.toFixed(3)}`)
    wakes.set(channel, lines)
  }
}

export function publishAll(space: Keyspace, wakes: ReadonlyMap<string, readonly string[]>): void {
  for (const [channel, lines] of wakes) space.publish(channel, lines.join('\n'))
}
