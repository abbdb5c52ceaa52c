import type { AttemptResult, Claim } from '../../store/contract.js'
import type { AnswerListener } from '../../store/pending-answer.js'
import type { Runtime } from './runtime.js'

/** Takes the answers to attempts. */
export interface AnswerTaker {
  take(sent: SentAttempt, answer: AttemptResult): void
  fail(sent: SentAttempt, error: unknown): void
}

/** An attempt that is on its way, or was answered "waiting". */
export class SentAttempt implements AnswerListener<AttemptResult> {
  // The constructor sets every field. A field that is only declared costs no initialiser.
  declare readonly claim: Claim
  declare readonly sentMs: number
  declare readonly offsetMs: number
  /** Set where the answer comes later. */
  declare taker: AnswerTaker | undefined

  constructor(claim: Claim, sentMs: number, offsetMs: number) {
    this.claim = claim
    this.sentMs = sentMs
    this.offsetMs = offsetMs
    this.taker = undefined
  }

  answered(result: AttemptResult): void {
    this.taker?.take(this, result)
  }

  failed(reason: unknown): void {
    this.taker?.fail(this, reason)
  }
}

/** Publishes that the store answered an attempt. */
export function announceAnswer(
  runtime: Runtime,
  { claim, sentMs }: SentAttempt,
  { outcome }: AttemptResult,
): void {
  const durationMs = runtime.clock.monotonicMs() - sentMs
  runtime.announce('attempted', claim, { outcome, durationMs })
}
