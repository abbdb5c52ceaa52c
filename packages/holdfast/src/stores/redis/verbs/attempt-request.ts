/** An attempt that is on its way. */
import type { LockError } from '../../../errors.js'
import type { AttemptResult, Claim } from '../../../store/contract.js'
import { PendingAnswer } from '../../../store/pending-answer.js'
import { isWrite, lineOf, readAttempt } from '../wire/answers.js'
import type { EncodedTerms } from '../wire/terms-encoder.js'
import type { BatchRequest } from './batches.js'
import type { RedisRequests } from './requests.js'

export class AttemptRequest extends PendingAnswer<AttemptResult> implements BatchRequest {
  // The constructor sets every field. A field that is only declared costs no initialiser.
  declare readonly verb: 'a'
  declare readonly claim: Claim
  declare readonly terms: EncodedTerms
  declare private readonly requests: RedisRequests
  declare private readonly tokens: number
  declare private readonly breaks: number
  declare private readonly onSentTwice: (claim: Claim, line: string) => void

  /**
   * @param tokens how many it asks for
   * @param onSentTwice called with its answer if a connection broke while it was in flight
   */
  constructor(
    requests: RedisRequests,
    claim: Claim,
    terms: EncodedTerms,
    tokens: number,
    onSentTwice: (claim: Claim, line: string) => void,
  ) {
    super()
    this.verb = 'a'
    this.claim = claim
    this.terms = terms
    this.requests = requests
    this.tokens = tokens
    this.breaks = requests.deployment.breaks
    this.onSentTwice = onSentTwice
  }

  done(error: LockError | undefined, reply?: unknown): void {
    const { requests, claim } = this
    const { deployment } = requests
    requests.inbox.attemptAnswered(claim.id)
    let result: AttemptResult
    try {
      if (error !== undefined) throw error
      const line = typeof reply === 'number' ? reply : lineOf(reply)
      if (deployment.breaks !== this.breaks) this.onSentTwice(claim, String(line))
      result = readAttempt(line, claim, this.tokens)
      if (isWrite(result)) deployment.hasWritten = true
    } catch (caught) {
      const failure = requests.explain(caught, claim.lock)
      if (failure.code === 'STORE_UNAVAILABLE') requests.lateRequests.add(claim)
      this.fail(failure)
      return
    }
    this.answer(result)
  }
}
