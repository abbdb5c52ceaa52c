/**
 * A store over the real grant rule with one defect, which the suite must catch.
 */
import type { Clock } from 'holdfast'
import type { ListQuery, NamesPage, Store, Traits, WakeListener } from 'holdfast/store'
import { grantRule, type LockState, type RuleStep } from 'holdfast/internal'

export type Rule = Pick<
  typeof grantRule,
  'attempt' | 'renew' | 'withdraw' | 'downgrade' | 'steal' | 'describe'
>

/** A defect. */
export interface Breakage {
  /** What the store does wrong, as the end of a sentence. */
  readonly name: string
  /** The title of the case that must fail. */
  readonly caughtBy: string
  /** Verbs that replace those of the real rule. */
  readonly rule?: (sound: Rule) => Partial<Rule>
  /** Returns the key of a lock. */
  readonly keyOf?: (lock: string) => string
  /** Called after each verb. */
  readonly afterwards?: (state: LockState, step: RuleStep) => void
  /** Each client counts its own tokens. */
  readonly tokensPerClient?: true
  /** No waiter is woken. */
  readonly silent?: true
  /** Returns the names on a page of a prefix instead of the right ones. */
  readonly page?: (all: readonly string[], prefix: string, after: string, limit: number) => string[]
}

export const SOUND: Breakage = { name: 'nothing', caughtBy: '' }

type RunStep = <R>(lock: string, verb: (state: LockState, step: RuleStep) => R) => R

/** The service, which all clients share. */
export class RuleService {
  readonly #clock: Clock
  readonly #breakage: Breakage
  readonly #rule: Rule
  readonly #locks = new Map<string, LockState>()
  readonly #watchers = new Map<string, WakeListener>()
  readonly #traits: Traits

  constructor(clock: Clock, traits: Traits, breakage: Breakage) {
    this.#clock = clock
    this.#traits = traits
    this.#breakage = breakage
    this.#rule = { ...grantRule, ...breakage.rule?.(grantRule) }
  }

  /** Opens a client. */
  open(): Store {
    const rule = this.#rule
    const own = { lastToken: 0 }
    const runStep: RunStep = (lock, verb) => this.#runStep(lock, own, verb)
    return {
      name: 'rule',
      traits: this.#traits,
      attempt: (claim, options) =>
        runStep(claim.lock, (state, step) => rule.attempt(state, claim, options, step)),
      renew: (renewals) =>
        renewals.map((renewal) =>
          runStep(renewal.lock, (state, step) => rule.renew(state, renewal, step)),
        ),
      withdraw: (claim) => runStep(claim.lock, (state, step) => rule.withdraw(state, claim, step)),
      downgrade: (claim) =>
        runStep(claim.lock, (state, step) => rule.downgrade(state, claim, step)),
      steal: (lock, options) => runStep(lock, (state, step) => rule.steal(state, options, step)),
      watch: (claim, wake) => {
        this.#watchers.set(claim.id, wake)
        return { ready: undefined, close: () => void this.#watchers.delete(claim.id) }
      },
      list: (query) => this.#list(query),
      inspect: (locks, waitersUpTo) =>
        locks.flatMap(
          (lock) =>
            runStep(lock, (state, step) => rule.describe(lock, state, step, waitersUpTo)) ?? [],
        ),
      close: () => undefined,
    }
  }

  #list({ prefix, cursor = '', limit }: ListQuery): NamesPage {
    const page = this.#breakage.page ?? pageOf
    const names = page([...this.#locks.keys()].sort(), prefix, cursor, limit)
    return { names, cursor: names.length === limit ? names.at(-1) : undefined }
  }

  #runStep<R>(
    lock: string,
    own: { lastToken: number },
    verb: (state: LockState, step: RuleStep) => R,
  ): R {
    const { keyOf, tokensPerClient, afterwards, silent } = this.#breakage
    const key = keyOf ? keyOf(lock) : lock
    const state = this.#locks.get(key) ?? grantRule.newLockState(key)
    this.#locks.set(key, state)
    if (tokensPerClient) state.lastToken = own.lastToken
    const step = {
      nowMs: this.#clock.monotonicMs(),
      tokenFloor: 1,
      tombstoneLimit: 1000,
      promoted: [],
    }
    try {
      return verb(state, step)
    } finally {
      own.lastToken = state.lastToken
      afterwards?.(state, step)
      if (!silent) this.#wake(step)
    }
  }

  #wake({ promoted }: RuleStep): void {
    for (const { id, token, tokens, ttlMs } of promoted) {
      this.#watchers.get(id)?.({ token: BigInt(token), tokens, ttlMs })
    }
  }
}

export function pageOf(
  all: readonly string[],
  prefix: string,
  after: string,
  limit: number,
): string[] {
  return all.filter((lock) => lock.startsWith(prefix) && lock > after).slice(0, limit)
}
