/**
 * Taking entries out, and trying that again where it failed.
 *
 * The session of a client that lives on keeps alive whatever stands on it: what could not be
 * withdrawn, and a lease that was stolen from a holder that does nothing. The runtime stops trying
 * after a TTL, since other stores have forgotten the claim by then. Here it is tried until somebody
 * answers, at every sign of life of a session and each second, also when nobody asks for anything
 * any more. An entry that went with its session is an answer, too.
 */
import type { Clock, Timer } from '../../clock/clock.js'
import type { ClaimRef, WithdrawOutcome } from '../../store/contract.js'
import type { EntryReader } from './entry-reader.js'
import type { Neighbours } from './neighbours.js'
import type { PortSession, SequencedPort } from './port.js'
import { wantsAll } from './queue-rule.js'
import type { ClaimRecord, Records, QueueEntry } from './claim-record.js'

const SWEEP_MS = 1000
/**
 * So many are tried at once: a service that refuses them all need not hear of all of them each
 * second.
 */
const AT_ONCE = 100
/**
 * So many are remembered. Where more fail than that the service has not answered for long, and
 * sessions end there.
 */
const KEPT = 10_000

export interface RemoverContext<S extends PortSession> {
  readonly port: SequencedPort<S>
  readonly clock: Clock
  readonly reader: EntryReader
  readonly records: Records<S>
  readonly neighbours: Neighbours
}

export class EntryRemover<S extends PortSession> {
  readonly #context: RemoverContext<S>
  /**
   * What must go, the oldest first. With a reference where the claim is to be refused: its entry
   * may still be made.
   */
  readonly #pending = new Map<ClaimRecord<S>, ClaimRef | undefined>()
  #timer: Timer | undefined
  #stopped = false

  constructor(context: RemoverContext<S>) {
    this.#context = context
  }

  /** Its entry has to go: at once when the claim was withdrawn, else when its lease has ended. */
  scheduleRemoval(record: ClaimRecord<S>): void {
    if (record.queueEntry) this.#retryLater(record, undefined)
  }

  /** Tries again whatever is due. */
  sweep(): void {
    const nowMs = this.#context.clock.monotonicMs()
    let tries = 0
    for (const [record, claim] of this.#pending) {
      const { queueEntry, withdrawn } = record
      if (queueEntry && !withdrawn && queueEntry.endMs > nowMs) continue
      if (tries === AT_ONCE) break
      this.#pending.delete(record)
      // It was settled meanwhile.
      if (record.outcome || (!queueEntry && !claim)) continue
      tries += 1
      if (claim) this.block(record, claim).catch(() => undefined)
      else void this.remove(record)
    }
    this.#sweepSoon()
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
    this.#pending.clear()
  }

  /**
   * Refuses a claim whose attempts may still arrive. Rejects when nobody answers, and does it again
   * later.
   */
  async block(record: ClaimRecord<S>, claim: ClaimRef): Promise<WithdrawOutcome> {
    if (record.outcome) return record.outcome
    const { port, records } = this.#context
    try {
      const found = await port.block(claim)
      const outcome = record.queueEntry?.outcome ?? (found ? 'left' : 'absent')
      records.settle(record, outcome)
      return outcome
    } catch (error) {
      this.#retryLater(record, claim)
      throw error
    }
  }

  /** Takes out the entry of a claim, now or as soon as the service answers. */
  async remove(record: ClaimRecord<S>): Promise<void> {
    const { queueEntry } = record
    // What went wrong is told to whoever withdraws it.
    if (queueEntry) await this.leave(record, queueEntry).catch(() => undefined)
  }

  /** Takes out an entry. Whoever asks while that is being done already shares the answer. */
  leave(record: ClaimRecord<S>, queueEntry: QueueEntry<S>): Promise<WithdrawOutcome> {
    queueEntry.leaving ??= this.#leave(record, queueEntry).finally(
      () => (queueEntry.leaving = undefined),
    )
    return queueEntry.leaving
  }

  async #leave(record: ClaimRecord<S>, queueEntry: QueueEntry<S>): Promise<WithdrawOutcome> {
    const { port, records, neighbours } = this.#context
    const { entry, claim, grant } = queueEntry
    const leave = (): Promise<boolean> => port.leave(entry)
    // One that nobody has withdrawn is taken out after its end: to withdraw it then is too late.
    const held = record.withdrawn ? queueEntry.outcome : 'absent'
    try {
      const removed = await (grant && wantsAll(claim)
        ? neighbours.leave(entry.key, leave)
        : leave())
      if (record.outcome) return record.outcome
      const outcome = removed || (await this.#wasDoneBefore(queueEntry)) ? held : 'absent'
      records.settle(record, outcome)
      return outcome
    } catch (error) {
      queueEntry.removalInDoubt = true
      this.scheduleRemoval(record)
      throw error
    }
  }

  /**
   * Whether an earlier request of ours, whose answer was lost, has taken the entry out. It has if
   * the session was never interrupted and nobody stole the entry: then nothing else can have.
   */
  async #wasDoneBefore(queueEntry: QueueEntry<S>): Promise<boolean> {
    if (!queueEntry.removalInDoubt) return false
    const look = await this.#context.reader.look({ entry: queueEntry.entry, claim: undefined })
    if (look.state === 'present' || look.stealReason !== undefined) return false
    return queueEntry.session.keepAlive()
  }

  #retryLater(record: ClaimRecord<S>, claim: ClaimRef | undefined): void {
    this.#pending.delete(record)
    this.#pending.set(record, claim)
    for (const oldest of this.#pending.keys()) {
      if (this.#pending.size <= KEPT) break
      this.#pending.delete(oldest)
      this.#context.records.settle(oldest, 'absent')
    }
    this.#sweepSoon()
  }

  #sweepSoon(): void {
    if (this.#stopped || this.#timer || this.#pending.size === 0) return
    const fire = (): void => {
      this.#timer = undefined
      this.sweep()
    }
    this.#timer = this.#context.clock.timer(SWEEP_MS, fire, true)
  }
}
