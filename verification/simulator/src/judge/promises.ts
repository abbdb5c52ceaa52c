/**
 * What is promised under the faults of a case. A run is judged by this alone. No lock over a server
 * that forgets or whose clock jumps can promise exclusion, and the guarantees of Holdfast name
 * both.
 */
import type { Case } from '../case.js'
import { firstLossMs } from '../faults/fault.js'
import { endsByWallClock, keepsEntries, type StoreName } from '../server/models.js'

export interface Promises {
  /**
   * Until when leases exclude, and whether they stay within what the server holds for as long as
   * the run goes.
   */
  readonly exclusionUntilMs: number
  readonly exclusion: boolean
  /** `released` is answered only if the server still held the lock. */
  readonly release: boolean
  /** Tokens grow, so that the fenced resource loses nothing. */
  readonly tokens: boolean
  /** Nothing overtakes in the queue. */
  readonly order: boolean
  /** Every waiter is served soon after everything was healed. */
  readonly liveness: boolean
  /** Why something is not promised. */
  readonly because: readonly string[]
}

export function promisesOf({ store, faults }: Case): Promises {
  const because: string[] = []
  const lossMs = firstLossMs(faults)
  const forgets = lossMs < Infinity
  const steps = faults.flatMap((fault) => (fault.kind === 'server-clock-step' ? [fault.byMs] : []))
  const leasesJump = endsByWallClock(store) && steps.length > 0
  // A server that forgot its counter counts on from its clock, which must not have gone back.
  const counterReturns = forgets && steps.some((byMs) => byMs < 0)
  const undoes = faults.some(({ kind }) => kind === 'server-failover')
  if (forgets) because.push('the server lost its data')
  if (leasesJump) because.push('the clock that ends the leases was set')
  if (counterReturns) because.push('the clock was set back, and the counter starts from it')
  const away = faults.some(({ kind }) => !IN_ORDER.has(kind))
  return {
    exclusionUntilMs: leasesJump ? 0 : lossMs,
    exclusion: !forgets && !leasesJump,
    // A server that forgot everything answers accordingly. One that lost its latest writes may have
    // lost a release that it had answered, and keep the lock for a holder that is gone.
    release: !leasesJump && !undoes,
    tokens: forgetsTokens(store) ? !forgets : !counterReturns,
    order: store !== 'poll' && store !== 'redlock' && !forgets && !leasesJump && !away,
    // Set back by an hour, the clock makes the lease of a dead holder last an hour more.
    liveness: !leasesJump || steps.every((byMs) => byMs > 0),
    because,
  }
}

/**
 * A server of Redlock that forgot covers no token; what the others promise is judged apart. The
 * numbers of a coordination service begin again.
 */
function forgetsTokens(store: StoreName): boolean {
  return store === 'redlock' || keepsEntries(store)
}

/**
 * Under other faults a waiter may be away for so long that the store forgets its place, as it
 * should.
 */
const IN_ORDER: ReadonlySet<string> = new Set(['clock-step', 'server-clock-step'])
