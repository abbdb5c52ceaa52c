/**
 * Withdrawing: taking out one's own entry, and nobody else's.
 *
 * A claim whose attempts were all answered has no message under way, so its entry is taken out by its number and the claim is
 * remembered here. One whose attempt is still unanswered may be entered at any later moment: it is banished in the service.
 */
import type { ClaimRef, WithdrawOutcome } from '../../store/contract.js'
import type { StoreContext } from './context.js'
import type { PortSession } from './port.js'
import { wantsAll } from './queue-rule.js'
import type { ClaimRecord, Standpoint } from './record.js'

export class Withdrawing<S extends PortSession> {
  readonly #context: StoreContext<S>

  constructor(context: StoreContext<S>) {
    this.#context = context
  }

  async withdraw(claim: ClaimRef): Promise<WithdrawOutcome> {
    const { records } = this.#context
    const record = records.get(claim) ?? records.make(claim)
    if (record.outcome) return record.outcome
    records.bury(record)
    const { standpoint } = record
    if (!standpoint || record.entering) return this.#context.banish(record, claim)
    standpoint.leaving ??= this.#leave(record, standpoint).finally(() => (standpoint.leaving = undefined))
    return standpoint.leaving
  }

  async #leave(record: ClaimRecord<S>, standpoint: Standpoint<S>): Promise<WithdrawOutcome> {
    const { port, records, doomed, neighbours } = this.#context
    const { entry, claim, grant } = standpoint
    const leave = (): Promise<boolean> => port.leave(entry)
    let removed: boolean
    try {
      removed = await (grant && wantsAll(claim) ? neighbours.leave(entry.key, leave) : leave())
    } catch (error) {
      standpoint.leaveUnclear = true
      doomed.add(record)
      throw error
    }
    if (record.outcome) return record.outcome
    const outcome = removed || (await this.#wasDoneBefore(standpoint)) ? standpoint.outcome : 'absent'
    records.settle(record, outcome)
    return outcome
  }

  /**
   * Whether an earlier request of ours, whose answer was lost, has taken the entry out. It has if the session was never
   * interrupted and nobody stole the entry: then nothing else can have.
   */
  async #wasDoneBefore(standpoint: Standpoint<S>): Promise<boolean> {
    if (!standpoint.leaveUnclear) return false
    const look = await this.#context.look({ entry: standpoint.entry, claim: standpoint.claim })
    if (look.state === 'present' || look.stolenBecause !== undefined) return false
    return standpoint.session.keepAlive()
  }
}
