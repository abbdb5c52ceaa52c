/**
 * Taking entries out, and trying that again where it failed.
 *
 * The session of a client that lives on keeps all its entries alive. That includes an entry that
 * could not be withdrawn, and one stolen from a holder that does nothing. The runtime stops trying
 * after a TTL, since other stores have forgotten the claim by then. Here it is tried until the
 * service answers, at every sign of life of a session and each second, also without further verbs.
 * An entry that went with its session is an answer, too.
 */
import type { Clock } from '../../../clock/clock.js'
import { OldestKeys } from '../../../collections/oldest-keys.js'
import { RepeatedRequests } from '../../../in-doubt/repeated-requests.js'
import type { ClaimRef, WithdrawOutcome } from '../../../store/contract.js'
import type { ReadBatches } from './read-batches.js'
import type { LocalHandOffs } from './local-hand-offs.js'
import type { ServiceSession, CoordinationService } from '../connection/service.js'
import type { EntryData } from '../wire.js'
import { wantsAll } from './queue-rule.js'
import type { ClaimRecord, ClaimRecords, QueueEntry } from './claim-records.js'

const SWEEP_MS = 1000
/**
 * The number of removals in flight: a service that refuses them all need not get all of them each
 * second.
 */
const AT_ONCE = 100
/**
 * The number of remembered removals. Where more fail, the service has not answered for long, and
 * its sessions end.
 */
const KEPT = 10_000

export interface RemoverContext<S extends ServiceSession> {
  readonly service: CoordinationService<S>
  readonly clock: Clock
  readonly reader: ReadBatches
  readonly records: ClaimRecords<S>
  readonly localHandOffs: LocalHandOffs
}

export class EntryRemover<S extends ServiceSession> {
  readonly #context: RemoverContext<S>
  /** What must go. With a reference where the claim is to be refused: its entry may come late. */
  readonly #pending: RepeatedRequests<ClaimRecord<S>, ClaimRef | undefined>
  readonly #oldest: OldestKeys<ClaimRecord<S>>

  constructor(context: RemoverContext<S>) {
    this.#context = context
    this.#pending = new RepeatedRequests({
      clock: context.clock,
      everyMs: SWEEP_MS,
      mostAtOnce: AT_ONCE,
      when: (record, claim) => this.#when(record, claim),
      ask: (record, claim) => (claim ? this.block(record, claim) : this.#leaveNow(record)),
    })
    this.#oldest = new OldestKeys(this.#pending)
  }

  /** Its entry has to go: at once when the claim was withdrawn, else when its lease has ended. */
  scheduleRemoval(record: ClaimRecord<S>): void {
    if (record.queueEntry) this.#retryLater(record, undefined)
  }

  /** Tries the removals again that are due. */
  sweep(): void {
    this.#pending.sweep()
  }

  stop(): void {
    this.#pending.stop()
  }

  #when(record: ClaimRecord<S>, claim: ClaimRef | undefined): 'now' | 'later' | 'never' {
    const { queueEntry, withdrawn, outcome } = record
    // Its entry was gone meanwhile.
    if (outcome || (!queueEntry && !claim)) return 'never'
    const holds = queueEntry && !withdrawn && queueEntry.endMs > this.#context.clock.monotonicMs()
    return holds ? 'later' : 'now'
  }

  /**
   * Refuses a claim whose attempts may still arrive. Rejects without an answer, and does it again
   * later. Callers that come meanwhile share the answer.
   */
  async block(record: ClaimRecord<S>, claim: ClaimRef): Promise<WithdrawOutcome> {
    if (record.outcome) return record.outcome
    record.blocking ??= this.#block(record, claim).finally(() => (record.blocking = undefined))
    return record.blocking
  }

  async #block(record: ClaimRecord<S>, claim: ClaimRef): Promise<WithdrawOutcome> {
    const { service, records } = this.#context
    try {
      const found = await service.block(claim)
      const outcome = record.queueEntry?.outcome ?? (found ? outcomeOf(found) : 'absent')
      records.noteGone(record, outcome)
      return outcome
    } catch (error) {
      this.#retryLater(record, claim)
      throw error
    }
  }

  /** Takes out the entry of a claim, now or as soon as the service answers. */
  async remove(record: ClaimRecord<S>): Promise<void> {
    // The caller of the withdrawal gets the error.
    await this.#leaveNow(record).catch(() => undefined)
  }

  async #leaveNow(record: ClaimRecord<S>): Promise<void> {
    if (record.queueEntry) await this.leave(record, record.queueEntry)
  }

  /** Takes out an entry. Callers that come meanwhile share the answer. */
  leave(record: ClaimRecord<S>, queueEntry: QueueEntry<S>): Promise<WithdrawOutcome> {
    queueEntry.leaving ??= this.#leave(record, queueEntry).finally(
      () => (queueEntry.leaving = undefined),
    )
    return queueEntry.leaving
  }

  async #leave(record: ClaimRecord<S>, queueEntry: QueueEntry<S>): Promise<WithdrawOutcome> {
    const { service, records, localHandOffs } = this.#context
    const { entry, version, claim, grant } = queueEntry
    const leave = (): Promise<boolean> => service.leave(entry, version)
    // A claim that was not withdrawn is removed after its end: a later withdrawal is too late.
    const held = record.withdrawn ? queueEntry.outcome : 'absent'
    try {
      const removed = await (grant && wantsAll(claim)
        ? localHandOffs.leave(entry.key, leave)
        : leave())
      if (record.outcome) return record.outcome
      const outcome = removed || (await this.#wasDoneBefore(queueEntry)) ? held : 'absent'
      records.noteGone(record, outcome)
      return outcome
    } catch (error) {
      queueEntry.removalInDoubt = true
      this.scheduleRemoval(record)
      throw error
    }
  }

  /**
   * Whether an earlier request of ours, whose answer was lost, has taken the entry out. It has if
   * the session was never interrupted and the entry was not stolen: then nothing else can have.
   */
  async #wasDoneBefore(queueEntry: QueueEntry<S>): Promise<boolean> {
    if (!queueEntry.removalInDoubt) return false
    const reading = await this.#context.reader.read({ entry: queueEntry.entry, claim: undefined })
    if (reading.state === 'present' || reading.stealReason !== undefined) return false
    return queueEntry.session.keepAlive()
  }

  #retryLater(record: ClaimRecord<S>, claim: ClaimRef | undefined): void {
    this.#pending.add(record, claim)
    const oldest = this.#pending.size > KEPT ? this.#oldest.next() : undefined
    if (oldest === undefined) return
    this.#pending.delete(oldest)
    this.#context.records.noteGone(oldest, 'absent')
  }
}

/** What the removal of an entry comes to that this client does not know. */
function outcomeOf({ detached }: Pick<EntryData, 'detached'>): WithdrawOutcome {
  return detached === true ? 'released' : 'left'
}
