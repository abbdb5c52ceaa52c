/**
 * Withdrawing: removing the entry of a claim of this client.
 *
 * A claim whose attempts were all answered has no message in flight. Its entry is removed by its
 * number, and the claim is remembered here. The answer to an attempt in flight is awaited, within
 * bounds: it nearly always comes. After an attempt that failed or was not answered, the entry may
 * be made at any later time. Then the claim is blocked in the service, which costs each attempt for
 * this lock a little for as long as the mark stays there.
 */
import { settlesWithin } from '../../../clock/settles-within.js'
import type { ClaimRef, WithdrawOutcome } from '../../../store/contract.js'
import type { StoreContext } from '../queue/context.js'
import type { ServiceSession } from '../connection/service.js'
import type { ClaimRecord } from '../queue/claim-records.js'

/** How long to wait for the answer to an attempt: longer than a server is given for it. */
export const ANSWER_LIMIT_MS = 3000

export class ClaimWithdrawer<S extends ServiceSession> {
  readonly #context: StoreContext<S>

  constructor(context: StoreContext<S>) {
    this.#context = context
  }

  async withdraw(claim: ClaimRef): Promise<WithdrawOutcome> {
    const { records } = this.#context
    // What was never attempted here may have been attempted elsewhere.
    const record = records.get(claim) ?? records.make(claim, true)
    if (record.outcome) return record.outcome
    records.markWithdrawn(record)
    const answered = record.entering === undefined || (await this.#isAnswered(record.entering))
    return answered ? this.#end(record, claim) : this.#context.removing.block(record, claim)
  }

  /** Ends a claim without an attempt in flight. */
  async #end(record: ClaimRecord<S>, claim: ClaimRef): Promise<WithdrawOutcome> {
    const { queueEntry, outcome } = record
    if (outcome) return outcome
    if (queueEntry) return this.#context.removing.leave(record, queueEntry)
    if (record.inDoubt) return this.#context.removing.block(record, claim)
    this.#context.records.noteGone(record, 'absent')
    return 'absent'
  }

  #isAnswered(entering: Promise<unknown>): Promise<boolean> {
    return settlesWithin(entering, ANSWER_LIMIT_MS, { clock: this.#context.clock })
  }
}
