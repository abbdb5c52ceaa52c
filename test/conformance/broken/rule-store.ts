/**
 * A store over the real grant rule with one defect, which the suite must catch.
 */
import type { Clock } from 'holdfast'
import type {
  InspectPage,
  InspectQuery,
  LockInfo,
  Store,
  Traits,
  WakeListener,
} from 'holdfast/store'
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
  /** Returns the page of a prefix instead of the right one. */
  readonly page?: (
    all: readonly LockInfo[],
    prefix: string,
    after: string,
    limit: number,
  ) => LockInfo[]
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
      inspect: (query) => this.#inspect(query, runStep),
      close: () => undefined,
    }
  }

  #inspect(query: InspectQuery, runStep: RunStep): InspectPage {
    const { describe } = this.#rule
    const shown = (lock: string, waitersUpTo?: readonly string[]): LockInfo[] => {
      const info = runStep(lock, (state, step) => describe(lock, state, step, waitersUpTo))
      return info ? [info] : []
    }
    if ('lock' in query) return { locks: shown(query.lock, query.waitersUpTo), cursor: undefined }
    const all = [...this.#locks.keys()].sort().flatMap((lock) => shown(lock))
    const page = this.#breakage.page ?? pageOf
    const locks = page(all, query.prefix, query.cursor ?? '', query.limit)
    return { locks, cursor: locks.length === query.limit ? locks.at(-1)?.lock : undefined }
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
  all: readonly LockInfo[],
  prefix: string,
  after: string,
  limit: number,
): LockInfo[] {
  return all.filter(({ lock }) => lock.startsWith(prefix) && lock > after).slice(0, limit)
}
