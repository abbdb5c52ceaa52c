/** The memory store's rule, as a model that the scripts are compared with. */
import type { Claim, LockInfo } from 'holdfast/store'
import * as rule from '../../../dist/store/grant-rule.js'

/** One step of a history. */
export type Step =
  | {
      readonly verb: 'attempt'
      readonly claim: Claim
      readonly enqueue: boolean
      readonly tokens: number
    }
  | { readonly verb: 'withdraw' | 'downgrade'; readonly claim: Claim }
  | { readonly verb: 'renew'; readonly claim: Claim & { readonly keepsEnd: boolean } }
  | {
      readonly verb: 'steal'
      readonly lock: string
      readonly now: boolean
      readonly reason?: string
    }
  | { readonly verb: 'describe'; readonly lock: string }

export class Model {
  readonly #locks = new Map<string, rule.LockState>()
  readonly #ruleStep: rule.RuleStep = {
    nowMs: 0,
    tokenFloor: 0,
    tombstoneLimit: 10_000,
    promoted: [],
  }
  readonly #withTombstone = new Set<string>()
  /** The waiters that were to learn that they hold a lock, and what of it. */
  readonly pushed: string[] = []

  /** Does the step, and returns what it answers, or the message of its refusal. */
  do(step: Step, nowMs: number): unknown {
    const lock = 'lock' in step ? step.lock : step.claim.lock
    const state = this.#state(lock)
    this.#ruleStep.nowMs = nowMs
    this.#ruleStep.tokenFloor = nowMs * 1000
    try {
      return this.#do(step, state, lock)
    } catch (error) {
      return (error as Error).message
    } finally {
      const asking = step.verb === 'attempt' ? step.claim.id : undefined
      for (const { id, token, tokens } of this.#ruleStep.promoted.splice(0)) {
        // The claim whose verb this is learns it from the answer.
        if (id !== asking) this.pushed.push(`${id} ${token} ${tokens}`)
      }
      for (const id of state.tombstones.keys()) this.#withTombstone.add(id)
    }
  }

  /** Whether the claim was withdrawn so long ago that a store may have forgotten it, or may not. */
  isVague({ lock, id }: Claim, nowMs: number): boolean {
    const tombstone = this.#state(lock).tombstones.get(id)
    return this.#withTombstone.has(id) && !(tombstone && tombstone.untilMs > nowMs)
  }

  /** When the first lease on the step's lock ends. */
  firstEndMs(step: Step): number {
    const { holders } = this.#state('lock' in step ? step.lock : step.claim.lock)
    return Math.min(...Array.from(holders.values(), ({ expiresMs }) => expiresMs))
  }

  /** The store has lost everything. */
  clear(): void {
    this.#locks.clear()
    this.#withTombstone.clear()
  }

  #state(lock: string): rule.LockState {
    const state = this.#locks.get(lock) ?? rule.newLockState(lock)
    this.#locks.set(lock, state)
    return state
  }

  #do(step: Step, state: rule.LockState, lock: string): unknown {
    switch (step.verb) {
      case 'attempt':
        return rule.attempt(state, step.claim, step, this.#ruleStep)
      case 'renew':
        return rule.renew(state, step.claim, this.#ruleStep)
      case 'withdraw':
        return rule.withdraw(state, step.claim, this.#ruleStep)
      case 'downgrade':
        return rule.downgrade(state, step.claim, this.#ruleStep)
      case 'steal':
        return rule.steal(state, step, this.#ruleStep)
      case 'describe':
        break
    }
    return sorted(rule.describe(lock, state, this.#ruleStep))
  }
}

/** Holders that share a lock have no order. */
export function sorted(info: LockInfo | undefined): LockInfo | undefined {
  if (!info) return undefined
  const holders = info.holders.toSorted((a, b) => (a.claimId < b.claimId ? -1 : 1))
  return { ...info, holders }
}
