/**
 * Withdraws claims: for a caller that awaits the release, and in the background.
 *
 * Every attempt in doubt ends here, since a claim that was granted unseen would hold the lock for a
 * whole TTL. A withdraw is repeated with the same id until it is answered. After the claim's TTL it
 * is not needed any more.
 */
import { rejectForCallers } from '../../async/caller-frames.js'
import { beginCall, endCall } from '../../async/keep-alive.js'
import { isLockError, StoreUnavailableError, type LockError } from '../../errors.js'
import { repeatUntilAnswered } from '../../in-doubt/repeated-requests.js'
import { invariant } from '../../invariant.js'
import type { Claim, WithdrawOutcome } from '../../store/contract.js'
import type { MaybePromise } from '../../store/maybe-promise.js'
import type { AnswerListener } from '../../store/pending-answer.js'
import { listenToAnswer } from '../runtime/listen-to-answer.js'
import type { Runtime } from '../runtime/runtime.js'

/** How long to pause between two tries, in milliseconds. */
const RETRY_MS = [20, 200] as const
/** How long a caller of `release` waits for the outcome of repeated tries. */
const RELEASE_FOR_MS = 10_000
/** How long `close` waits for withdrawals in the background. */
const END_FOR_MS = 5000

/** What a release comes to: at once where the store answers at once. */
export type ReleaseOutcome = 'released' | 'lost' | Promise<'released' | 'lost'>

/** Hears how the store answered a release. */
export interface ReleaseListener {
  onReleased(outcome: 'released' | 'lost'): void
}

export class Withdrawals {
  readonly #runtime: Runtime
  readonly #pending = new Set<Promise<void>>()
  /** How many releases have a caller that waits. Only counted, since every pair has one. */
  #releases = 0
  #onReleased: (() => void) | undefined
  #ended = false

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  /**
   * Withdraws in the background. A failure goes to the events. After `end` it does nothing: the
   * claim expires.
   */
  inBackground(claim: Claim): void {
    if (this.#ended) return
    const giveUpMs = this.#runtime.clock.monotonicMs() + claim.ttlMs
    const done = this.#untilAnswered(claim, giveUpMs, true)
      .then(
        () => undefined,
        (error: unknown) => this.#runtime.report(claim, 'withdraw', error),
      )
      .finally(() => this.#pending.delete(done))
    this.#pending.add(done)
  }

  /**
   * Releases a held claim, without a promise where the store needs none.
   * @param deadlineMs when its lease ends
   * @param listener hears the outcome before the promise resolves; nothing of a failure
   * @throws StoreUnavailableError (`RELEASE_UNKNOWN`) when no answer came; the withdraw continues
   * in the background.
   */
  release(
    claim: Claim,
    deadlineMs: number,
    nowMs: number,
    listener?: ReleaseListener,
  ): ReleaseOutcome {
    let answer: MaybePromise<WithdrawOutcome>
    try {
      answer = this.#runtime.store.withdraw(claim)
    } catch (error) {
      answer = Promise.reject(error)
    }
    if (typeof answer === 'string') return judge(answer)
    if (this.#releases === 0) beginCall()
    this.#releases += 1
    const release = new OpenRelease(
      this,
      claim,
      Math.min(deadlineMs, nowMs + RELEASE_FOR_MS),
      listener,
    )
    listenToAnswer(answer, release)
    return release.promise
  }

  /**
   * Resolves when all withdrawals have finished or 5 s have passed. After that, each remaining or
   * new withdrawal gets one try, because the store may be closed.
   */
  async end(): Promise<void> {
    const { clock } = this.#runtime
    await new Promise<void>((resolve) => {
      const limit = clock.timer(END_FOR_MS, resolve)
      void this.#allAnswered().then(() => {
        limit.cancel()
        resolve()
      })
    })
    this.#ended = true
  }

  /** A release that fails becomes one in the background, so those come second. */
  async #allAnswered(): Promise<void> {
    if (this.#releases > 0) await new Promise<void>((resolve) => (this.#onReleased = resolve))
    await Promise.all(this.#pending)
  }

  /** Notes the end of a release. Its caller has called `release`. */
  released(): void {
    this.#releases -= 1
    invariant(this.#releases >= 0, 'a release ends once')
    if (this.#releases > 0) return
    endCall()
    this.#onReleased?.()
  }

  /**
   * Repeats a release whose first request was not answered. A store that finds nothing to release
   * any more may have forgotten that request, or may have lost the grant before it came. So neither
   * a loss nor a release is announced.
   */
  async releaseAgain(claim: Claim, giveUpMs: number, error: unknown): Promise<'released'> {
    let outcome: WithdrawOutcome
    try {
      outcome = await this.#untilAnswered(claim, giveUpMs, false, Promise.reject(error))
    } catch (caught) {
      this.inBackground(claim)
      throw this.#unknownRelease(claim, caught)
    } finally {
      this.released()
    }
    if (outcome === 'released') return outcome
    throw this.#unknownRelease(claim, error, 'had ended when the release was repeated.')
  }

  #untilAnswered(
    claim: Claim,
    giveUpMs: number,
    inBackground: boolean,
    first?: PromiseLike<WithdrawOutcome>,
  ): Promise<WithdrawOutcome> {
    const runtime = this.#runtime
    let answer = first
    const ask = async (): Promise<WithdrawOutcome> => {
      try {
        answer ??= Promise.resolve(runtime.store.withdraw(claim))
        return await answer
      } catch (caught) {
        answer = undefined
        throw runtime.asLockError(caught, claim.lock, 'the release')
      }
    }
    return repeatUntilAnswered(ask, {
      clock: runtime.clock,
      pauseMs: () => runtime.jitter(...RETRY_MS),
      givesUp: (error) =>
        this.#ended || !isRetryable(error) || runtime.clock.monotonicMs() >= giveUpMs,
      background: inBackground,
    })
  }

  #unknownRelease(claim: Claim, cause: unknown, now?: string): LockError {
    const isFree = `It is free after at most ${claim.ttlMs} ms in any case; the client repeats the release until then.`
    return new StoreUnavailableError(
      `It is unknown whether "${claim.lock}" was released or lost: the ${this.#runtime.store.name} store did not answer. ` +
        (now === undefined ? isFree : `The lease ${now}`),
      { code: 'RELEASE_UNKNOWN', lock: claim.lock, store: this.#runtime.store.name, cause },
    )
  }
}

/** A release whose caller waits for the answer of the store. */
class OpenRelease implements AnswerListener<WithdrawOutcome> {
  // The constructor sets every field. A field that is only declared costs no initialiser.
  declare readonly promise: Promise<'released' | 'lost'>
  declare private resolve: (outcome: 'released' | 'lost' | Promise<never>) => void
  declare private readonly withdrawals: Withdrawals
  declare private readonly claim: Claim
  declare private readonly giveUpMs: number
  declare private readonly listener: ReleaseListener | undefined

  constructor(
    withdrawals: Withdrawals,
    claim: Claim,
    giveUpMs: number,
    listener: ReleaseListener | undefined,
  ) {
    this.promise = new Promise((resolve) => (this.resolve = resolve))
    this.withdrawals = withdrawals
    this.claim = claim
    this.giveUpMs = giveUpMs
    this.listener = listener
  }

  answered(answer: WithdrawOutcome): void {
    this.withdrawals.released()
    this.settle(judge(answer))
  }

  failed(cause: unknown): void {
    this.withdrawals.releaseAgain(this.claim, this.giveUpMs, cause).then(
      (outcome) => this.settle(outcome),
      (reason: unknown) => this.resolve(rejectForCallers(reason)),
    )
  }

  private settle(outcome: 'released' | 'lost'): void {
    this.listener?.onReleased(outcome)
    this.resolve(outcome)
  }
}

function judge(outcome: WithdrawOutcome): 'released' | 'lost' {
  return outcome === 'released' ? outcome : 'lost'
}

/** Whether a retry can help. Wrong use and wrong credentials stay wrong. */
export function isRetryable(error: unknown): boolean {
  return isLockError(error) && error.code === 'STORE_UNAVAILABLE'
}
