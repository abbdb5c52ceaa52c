/**
 * Requests of this client that travel in batches, each with its answer still to come. They are
 * classes without closures: a process may have thousands of them open, and what they allocate is a
 * good part of what an acquire costs.
 */
import { invariant } from '../../invariant.js'
import type {
  AttemptResult,
  Claim,
  ClaimRef,
  RenewalListener,
  RenewResult,
  WithdrawOutcome,
} from '../../store/contract.js'
import { isRefusal, readAttempt, readRenewal, readWithdrawal } from './answers.js'
import type { BatchRequest, Verb } from './batches.js'
import type { Deployment } from './deployment.js'
import { explain, withdrawing } from './errors.js'
import type { GrantInbox } from './grant-inbox.js'
import type { LateRequests } from './late-requests.js'
import type { EncodedTerms } from './terms-encoder.js'

/** A request whose answer is one line for its caller to read. */
export class PendingLine implements BatchRequest {
  readonly verb: Verb
  readonly claim: ClaimRef
  readonly terms: EncodedTerms
  readonly answered: (line: string) => void
  readonly failed: (error: unknown) => void

  constructor(
    verb: Verb,
    claim: ClaimRef,
    terms: EncodedTerms,
    answered: (line: string) => void,
    failed: (error: unknown) => void,
  ) {
    this.verb = verb
    this.claim = claim
    this.terms = terms
    this.answered = answered
    this.failed = failed
  }
}

/** What attempts share. */
export interface AttemptContext {
  readonly deployment: Deployment
  readonly inbox: GrantInbox
  readonly lateRequests: LateRequests
  readonly withdraw: (claim: ClaimRef) => Promise<unknown>
}

export class PendingAttempt implements BatchRequest {
  readonly verb = 'a'
  readonly claim: Claim
  readonly terms: EncodedTerms
  readonly #tokens: number
  readonly #context: AttemptContext
  readonly #breaks: number
  readonly #resolve: (result: AttemptResult) => void
  readonly #reject: (error: unknown) => void

  constructor(
    context: AttemptContext,
    claim: Claim,
    terms: EncodedTerms,
    tokens: number,
    resolve: (result: AttemptResult) => void,
    reject: (error: unknown) => void,
  ) {
    this.claim = claim
    this.terms = terms
    this.#context = context
    this.#breaks = context.deployment.breaks
    this.#tokens = tokens
    this.#resolve = resolve
    this.#reject = reject
    context.inbox.attemptSent(claim.id)
  }

  answered(line: string): void {
    if (this.#context.deployment.breaks !== this.#breaks) this.#noteSentTwice(line)
    const result = readAttempt(line, this.claim, this.#tokens)
    this.#context.inbox.attemptAnswered(this.claim.id)
    this.#resolve(result)
  }

  failed(error: unknown): void {
    const { inbox, lateRequests } = this.#context
    inbox.attemptAnswered(this.claim.id)
    if (explain(error).code === 'STORE_UNAVAILABLE') lateRequests.add(this.claim)
    this.#reject(error)
  }

  /**
   * A connection broke while the attempt was in flight. It may have been sent twice, by the client
   * library if not by the store.
   */
  #noteSentTwice(line: string): void {
    const { lateRequests, withdraw } = this.#context
    lateRequests.add(this.claim)
    // Its caller does not withdraw a claim that was refused. The first arrival may come last, when
    // the lock is free.
    if (isRefusal(line))
      void lateRequests.withdrawInBackground(this.claim, () => withdraw(this.claim))
  }
}

export class PendingWithdrawal implements BatchRequest {
  readonly verb = 'w'
  readonly claim: ClaimRef
  readonly terms: EncodedTerms
  readonly failed: (error: unknown) => void
  readonly #lateRequests: LateRequests | undefined
  readonly #resolve: (outcome: WithdrawOutcome) => void

  /** @param lateRequests undefined when no request of the claim can arrive later */
  constructor(
    claim: ClaimRef,
    terms: EncodedTerms,
    lateRequests: LateRequests | undefined,
    resolve: (outcome: WithdrawOutcome) => void,
    reject: (error: unknown) => void,
  ) {
    this.claim = claim
    this.terms = terms
    this.failed = reject
    this.#lateRequests = lateRequests
    this.#resolve = resolve
  }

  answered(line: string): void {
    this.#lateRequests?.resolve(this.claim.id)
    this.#resolve(readWithdrawal(line))
  }
}

export interface RenewalRoundSettings {
  readonly lateRequests: LateRequests
  /** Takes the results when all are known. */
  readonly resolve: (results: readonly RenewResult[]) => void
  /** Takes the error of a listener, which is a defect of its own. */
  readonly reject: (error: unknown) => void
  /** Takes each result when it is known: a slow member of a Cluster delays no other. */
  readonly report: RenewalListener | undefined
}

/** The renewals of one call, answered together. */
export class RenewalRound {
  readonly lateRequests: LateRequests
  readonly #settings: RenewalRoundSettings
  readonly #results: RenewResult[] = []
  #open: number

  constructor(count: number, settings: RenewalRoundSettings) {
    this.#open = count
    this.#settings = settings
    this.lateRequests = settings.lateRequests
  }

  settle(index: number, result: RenewResult): void {
    invariant(this.#results[index] === undefined, 'a renewal is answered once')
    this.#results[index] = result
    this.#open -= 1
    const { report, resolve, reject } = this.#settings
    try {
      report?.(index, result)
    } catch (error) {
      reject(error)
    }
    if (this.#open === 0) resolve(this.#results)
  }
}

export class PendingRenewal implements BatchRequest {
  readonly verb = 'r'
  readonly claim: ClaimRef
  readonly terms: EncodedTerms
  readonly #round: RenewalRound
  readonly #index: number
  readonly #wasGivenUp: boolean

  constructor(round: RenewalRound, index: number, claim: ClaimRef, terms: EncodedTerms) {
    this.#round = round
    this.#index = index
    this.claim = claim
    this.terms = terms
    this.#wasGivenUp = round.lateRequests.givenUp.has(claim.id)
  }

  /**
   * A withdrawal in the background ends what the claim holds. It may reach the server after the
   * renewal, or may have reached it since the server answered.
   */
  answered(line: string): void {
    const result = readRenewal(line)
    const isGivenUp = this.#wasGivenUp || this.#round.lateRequests.givenUp.has(this.claim.id)
    const counts = result.outcome !== 'renewed' || !isGivenUp
    this.#round.settle(
      this.#index,
      counts ? result : { outcome: 'unknown', cause: withdrawing(this.claim.lock) },
    )
  }

  failed(error: unknown): void {
    this.#round.settle(this.#index, { outcome: 'unknown', cause: explain(error, this.claim.lock) })
  }
}
