/**
 * Entering a queue, in one atomic step that also reads what stands before the new entry. The
 * sessions that it needs are opened first; one that ends meanwhile is replaced.
 */
import { StoreUnavailableError } from '../../../errors.js'
import { lockMismatch } from '../../../store/errors.js'
import type { AttemptOptions, AttemptResult, Claim } from '../../../store/contract.js'
import type { StoreContext } from './context.js'
import { newEntryData, type EntryData } from '../wire.js'
import type { Entered, EnterResult, ServiceSession } from '../connection/service.js'
import { mayGo } from './queue-rule.js'
import { QueueEntry, type ClaimRecord } from './claim-records.js'
import type { Session } from '../session.js'
import { STILL_WAITING, waitingTtlMs, type QueueWaiter } from './queue-waiter.js'

/**
 * A session may end just while an entry is made on it; more often than that something else is
 * wrong.
 */
const TRIES = 3

interface NewEntry<S extends ServiceSession> {
  readonly claim: Claim
  readonly options: AttemptOptions
  readonly data: EntryData
  readonly holder: Session<S>
  readonly waiter: Session<S> | undefined
  readonly startMs: number
}

interface Requested<S extends ServiceSession> {
  /** For how long a grant is safe; 0 when one of the sessions is gone. */
  readonly assured: PromiseSettledResult<number>
  readonly result: EnterResult
  /** The session on which the entry stands, if it was made. */
  readonly session: Session<S>
}

export class QueueEntrance<S extends ServiceSession> {
  readonly #context: StoreContext<S>
  readonly #waiting: QueueWaiter<S>

  constructor(context: StoreContext<S>, waiting: QueueWaiter<S>) {
    this.#context = context
    this.#waiting = waiting
  }

  async enter(
    record: ClaimRecord<S>,
    claim: Claim,
    options: AttemptOptions,
  ): Promise<AttemptResult> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const result = await this.#enter(record, claim, options, tries)
      if (result) return result
    }
    throw new StoreUnavailableError(
      `The session with the ${this.#context.name} store ended ${TRIES} times while "${claim.lock}" was asked for. ` +
        'Look at the store and the network.',
      { lock: claim.lock, store: this.#context.name },
    )
  }

  /** Undefined when it is to be tried again. */
  async #enter(
    record: ClaimRecord<S>,
    claim: Claim,
    options: AttemptOptions,
    tries: number,
  ): Promise<AttemptResult | undefined> {
    const startMs = this.#context.clock.monotonicMs()
    const holder = await this.#context.sessions.ready(claim.ttlMs)
    const waiter = options.enqueue ? await this.#waiterSession(claim, tries) : undefined
    // Given up while the session was being opened: an entry now would come after its own
    // withdrawal.
    if (record.withdrawn) return { outcome: 'withdrawn' }
    const data = newEntryData(claim, this.#context.clock.wallMs(), options.tokens)
    const made = { claim, options, data, holder, waiter, startMs }
    const { assured, result, session } = await this.#request(record, made)
    if (result.outcome !== 'entered') {
      if (record.withdrawn) return { outcome: 'withdrawn' }
      if (assured.status === 'rejected') throw assured.reason
      return this.#refused(record, made, result)
    }
    // From here on the entry exists, also if this attempt fails: a withdrawal removes it.
    const queueEntry = queueEntryAt(made, session, result)
    record.queueEntry = queueEntry
    if (record.withdrawn) return { outcome: 'withdrawn' }
    if (assured.status === 'rejected') throw assured.reason
    const { mustLeave = false } = result
    const grantMs = assured.value
    if (grantMs > 0 && !mustLeave) return this.#entered(record, queueEntry, made, result, grantMs)
    // It does not fit. Or one of its two sessions has ended, and on the other one it would stand in
    // the way of its own next try.
    await this.#context.service.leave(result.entry, result.version)
    record.queueEntry = undefined
    return grantMs > 0 ? this.#refused(record, made, { outcome: 'busy' }) : undefined
  }

  /**
   * Makes the entry. The sign of life and the entry travel together; the grant counts only when
   * both were answered.
   */
  async #request(
    record: ClaimRecord<S>,
    { claim, options, data, holder, waiter }: NewEntry<S>,
  ): Promise<Requested<S>> {
    let opened = waiter
    const openWaiter = async (): Promise<S> => {
      opened ??= await this.#context.sessions.readyToWait(waitingTtlMs(claim))
      return opened.handle
    }
    const wasInDoubt = record.inDoubt
    record.inDoubt = true
    const [assured, entering] = await Promise.allSettled([
      this.#assure(claim, options, holder, waiter),
      this.#context.service.enter(
        claim,
        data,
        {
          holder: holder.handle,
          waiter: waiter?.handle,
          openWaiter: options.enqueue ? openWaiter : undefined,
        },
        wasInDoubt,
      ),
    ])
    if (entering.status === 'rejected') throw entering.reason
    const result = entering.value
    // A session that ended may have done so after an earlier request, which was not answered, had
    // made the entry on the other.
    record.inDoubt = result.outcome === 'no-session' || (result.outcome === 'refused' && wasInDoubt)
    const waits = result.outcome === 'entered' && result.onWaiterSession
    return { assured, result, session: waits && opened ? opened : holder }
  }

  /** It has no entry. Undefined when it is to be tried again. */
  async #refused(
    record: ClaimRecord<S>,
    { claim, options, holder, waiter }: NewEntry<S>,
    result: Exclude<EnterResult, Entered>,
  ): Promise<AttemptResult | undefined> {
    if (result.outcome === 'refused') throw result.error
    if (result.outcome === 'mismatch') throw lockMismatch(claim, result, this.#context.name)
    if (result.outcome === 'withdrawn') return this.#forget(record, result)
    if (result.outcome === 'no-session') {
      for (const session of [holder, waiter]) await session?.keepAlive()
      return undefined
    }
    if (!options.enqueue) return this.#forget(record, { ...result, holderRemainingMs: undefined })
    // It has to wait, and the session for that was not open yet.
    await this.#context.sessions.readyToWait(waitingTtlMs(claim))
    return undefined
  }

  /**
   * Waiters stand on a session of three heartbeats, so that a dead waiter delays no other claim.
   * It is opened when the first one has to wait: a client whose locks are free never needs it.
   */
  async #waiterSession(claim: Claim, tries: number): Promise<Session<S> | undefined> {
    const { sessions } = this.#context
    return (
      sessions.currentToWait(waitingTtlMs(claim)) ??
      (tries > 0 ? sessions.readyToWait(waitingTtlMs(claim)) : undefined)
    )
  }

  /**
   * After a pause of this process a grant is shorter than the TTL. The runtime renews such a grant
   * early, which is sooner than another sign of life.
   */
  async #assure(
    claim: Claim,
    options: AttemptOptions,
    holder: Session<S>,
    waiter: Session<S> | undefined,
  ): Promise<number> {
    const waitingMs = waitingTtlMs(claim)
    const half = claim.ttlMs / 2
    const [forMs, waits] = await Promise.all([
      holder.assure(claim.ttlMs, options.enqueue ? Math.max(half, waitingMs) : half),
      waiter && waiter !== holder ? waiter.assure(waitingMs) : Infinity,
    ])
    return waits > 0 ? forMs : 0
  }

  async #entered(
    record: ClaimRecord<S>,
    queueEntry: QueueEntry<S>,
    { claim, options, holder, startMs }: NewEntry<S>,
    result: Entered,
    grantMs: number,
  ): Promise<AttemptResult> {
    if (!mayGo(claim, result)) return STILL_WAITING
    if (queueEntry.session !== holder) {
      // A semaphore's permit beside others: nothing was pushed, so it is given its whole TTL at
      // once.
      const { data } = queueEntry
      const version = await this.#context.service.amend(
        result.entry,
        data,
        result.version,
        holder.handle,
      )
      if (record.withdrawn) return { outcome: 'withdrawn' }
      if (version === undefined) return this.#waiting.again(record, queueEntry, claim, options)
      queueEntry.version = version
      queueEntry.session = holder
    }
    return {
      outcome: 'granted',
      alreadyGranted: false,
      ...queueEntry.hold(startMs, grantMs, this.#context.clock.monotonicMs()),
      remainingMs: queueEntry.endMs - this.#context.clock.monotonicMs(),
    }
  }

  #forget<R extends AttemptResult>(record: ClaimRecord<S>, result: R): R {
    this.#context.records.drop(record)
    return result
  }
}

function queueEntryAt<S extends ServiceSession>(
  { claim, options, data, startMs }: NewEntry<S>,
  session: Session<S>,
  { entry, version, data: shown = data, later, ...position }: Entered,
): QueueEntry<S> {
  const queueEntry = new QueueEntry(claim, entry, session, shown, position)
  queueEntry.version = version
  queueEntry.asked = options.tokens
  queueEntry.later = later
  queueEntry.waitingMs = startMs
  return queueEntry
}
