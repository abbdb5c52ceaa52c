/**
 * Judges a thread that renews. A renewal may leave only while the event loop is blocked, and within
 * `blockedAtMostMs`. The client must not have released, exported or lost the lease before.
 */
import { isLockError } from 'holdfast'
import type { Renewal, Store } from 'holdfast/store'
import type { Belief } from '@holdfast/workload'
import type { Claimants } from '../workload/claimants.js'
import type { Circumstances } from '../workload/circumstances.js'
import type { Process } from '../world/process.js'

/** The first turn after a block gives a beat, some moments later. */
const FIRST_TURN_MS = 20
const SHARE_OF_TTL = 1 / 3
/** Beats are this far apart, and a timer may be late. */
const BEAT_SHARE = 1 / 6

export interface HelperRules {
  readonly main: Process
  readonly claimants: Claimants
  readonly circumstances: Circumstances
  readonly ttlMs: number
  readonly blockedAtMostMs: number
}

/** Returns the store of the thread, which notes each renewal that must not leave. */
export function watchedStore(store: Store, rules: HelperRules): Store {
  const renew = store.renew.bind(store)
  store.renew = (renewals, take) => {
    for (const renewal of renewals) judgeRenewal(renewal, rules)
    return renew(renewals, take)
  }
  return store
}

function judgeRenewal({ id, lock }: Renewal, rules: HelperRules): void {
  const { main, claimants, circumstances, ttlMs, blockedAtMostMs } = rules
  const breach = (property: string, message: string): void =>
    circumstances.breach({ property, key: lock, message })
  const { withdrawn, lost, passedOn } = claimants
  if (withdrawn.has(id) || lost.has(id) || passedOn.has(id))
    breach('renewed-after-end', `The thread renews claim ${id} of "${lock}" after its end.`)
  if (main.runs) {
    if (main.awakeMs > FIRST_TURN_MS)
      breach('renewed-needlessly', `The thread renews "${lock}" though the event loop turns.`)
    return
  }
  const stoodMs = main.stoodMs
  const ms = stoodMs.toFixed(0)
  if (stoodMs > blockedAtMostMs)
    breach('cap', `The thread renews "${lock}" ${ms} ms after the block began.`)
  if (stoodMs < (SHARE_OF_TTL - BEAT_SHARE) * ttlMs)
    breach('renewed-needlessly', `The thread renews "${lock}" ${ms} ms after the block began.`)
}

/** Beyond the limit no lease is held in the first moment after a block. */
export function judgeWaking(beliefs: Iterable<Belief>, rules: HelperRules): void {
  const { main, circumstances, ttlMs, blockedAtMostMs } = rules
  // A lease lasts to its own deadline anyway.
  if (main.stoodMs <= Math.max(blockedAtMostMs, ttlMs)) return
  for (const { key, actor, lease } of beliefs) {
    if (!lease.held) continue
    const message = `${actor} still holds "${key}" after a block of ${main.stoodMs.toFixed(0)} ms.`
    circumstances.breach({ property: 'cap', key, message })
  }
}

/** Without another fault a block within the limit ends no lease that the thread knows. */
export function judgeKept(
  beliefs: Iterable<Belief>,
  rules: HelperRules,
  knows: (claimId: string) => boolean,
): void {
  const { main, circumstances, ttlMs, blockedAtMostMs } = rules
  if (main.stoodMs > blockedAtMostMs - BEAT_SHARE * ttlMs) return
  for (const { key, actor, lease } of beliefs) {
    if (lease.held || !knows(lease.claimId) || isSteal(lease.signal.reason)) continue
    const message = `${actor} lost "${key}" in a block of ${main.stoodMs.toFixed(0)} ms.`
    circumstances.breach({ property: 'kept', key, message })
  }
}

function isSteal(reason: unknown): boolean {
  return isLockError(reason) && 'reason' in reason && reason.reason === 'stolen'
}
