/**
 * Renewals: one sign of life for each session, and a read of every entry that is to be renewed.
 *
 * The answer to the sign of life promises the whole TTL from the moment at which the renewal was
 * asked for. The read finds out whether the entry is still there and was not stolen; a session
 * alone says nothing of that.
 */
import { StoreUnavailableError, type LockError } from '../../../errors.js'
import type { Renewal, RenewalListener, RenewResult } from '../../../store/contract.js'
import { renewEach } from '../../../store/renew-each.js'
import { stolenLoss } from '../../../store/stolen.js'
import type { StoreContext } from '../queue/context.js'
import type { EntryData } from '../wire.js'
import type { EntryReading, ServiceSession, Present } from '../connection/service.js'
import type { ClaimRecord, QueueEntry } from '../queue/claim-records.js'
import type { Session } from '../session.js'

const EXPIRED: RenewResult = { outcome: 'lost', reason: 'expired' }
/** The data may change under a renewal: once by a thief, and hardly ever again. */
const TRIES = 3

export class EntryRenewer<S extends ServiceSession> {
  readonly #context: StoreContext<S>
  readonly #renewDetached: (renewal: Renewal) => Promise<RenewResult>

  /** @param renewDetached renews an entry that no client holds */
  constructor(context: StoreContext<S>, renewDetached: (renewal: Renewal) => Promise<RenewResult>) {
    this.#context = context
    this.#renewDetached = renewDetached
  }

  renew(renewals: readonly Renewal[], report?: RenewalListener): Promise<readonly RenewResult[]> {
    const kept = new Map<Session<S>, Promise<boolean>>()
    const keep = (session: Session<S>): Promise<boolean> => {
      let answer = kept.get(session)
      if (!answer) kept.set(session, (answer = session.keepAlive()))
      return answer
    }
    return renewEach(renewals, (renewal) => this.#renewOne(renewal, keep), report)
  }

  async #renewOne(
    renewal: Renewal,
    keep: (session: Session<S>) => Promise<boolean>,
  ): Promise<RenewResult> {
    const record = this.#context.records.get(renewal)
    const queueEntry = record?.queueEntry
    if (!record) return this.#renewUnknown(renewal)
    if (record.stealReason !== undefined) return stolenLoss(record.stealReason)
    if (record.withdrawn || !queueEntry?.grant) return EXPIRED
    try {
      return await this.#renewEntry(record, queueEntry, renewal, keep)
    } catch (error) {
      return { outcome: 'unknown', cause: error as LockError }
    }
  }

  /** A claim that this client does not know may be detached: then no client holds it. */
  async #renewUnknown(renewal: Renewal): Promise<RenewResult> {
    if (!this.#context.service.adopts) return EXPIRED
    try {
      return await this.#renewDetached(renewal)
    } catch (error) {
      return { outcome: 'unknown', cause: error as LockError }
    }
  }

  async #renewEntry(
    record: ClaimRecord<S>,
    queueEntry: QueueEntry<S>,
    renewal: Renewal,
    keep: (session: Session<S>) => Promise<boolean>,
  ): Promise<RenewResult> {
    const { clock, sessions } = this.#context
    if (renewal.keepsEnd === true) return this.#showOwner(record, queueEntry, renewal)
    const startMs = clock.monotonicMs()
    for (let tries = 0; tries < TRIES; tries += 1) {
      const session = await sessions.ready(renewal.ttlMs)
      const [alive, reading] = await Promise.allSettled([keep(session), this.#read(queueEntry)])
      if (reading.status === 'rejected') throw reading.reason
      const end = this.#endOf(record, reading.value)
      if (end) return end
      if (alive.status === 'rejected') throw alive.reason
      if (!alive.value && queueEntry.session === session) return EXPIRED
      // The session to move to has ended, as after a pause of this process: the next try opens
      // another.
      if (!alive.value) continue
      if (await this.#write(queueEntry, reading.value as Present, renewal, session)) {
        queueEntry.endMs = startMs + renewal.ttlMs
        return { outcome: 'renewed' }
      }
    }
    throw new StoreUnavailableError(
      `The entry of "${renewal.lock}" or its session with ${this.#context.name} changed ${TRIES} times during one renewal. ` +
        'Look at the store and the network.',
      { lock: renewal.lock, store: this.#context.name },
    )
  }

  /** Only shows the owner. */
  async #showOwner(
    record: ClaimRecord<S>,
    queueEntry: QueueEntry<S>,
    renewal: Renewal,
  ): Promise<RenewResult> {
    const reading = await this.#read(queueEntry)
    const end = this.#endOf(record, reading)
    if (end) return end
    const present = reading as Present
    const { ttlMs } = present.data
    await this.#write(queueEntry, present, { ...renewal, ttlMs }, queueEntry.session)
    return { outcome: 'renewed' }
  }

  #read({ entry }: QueueEntry<S>): Promise<EntryReading> {
    return this.#context.reader.read({ entry, claim: undefined })
  }

  /** What the read says about a lease that is over, or undefined when it is not. */
  #endOf(record: ClaimRecord<S>, reading: EntryReading): RenewResult | undefined {
    if (reading.state === 'present') {
      if (reading.data.stolen !== true) return undefined
      // Its holder lets go of it, or does not: it must not live for as long as the session does.
      this.#context.removing.scheduleRemoval(record)
      return stolenLoss(reading.data.stealReason)
    }
    this.#context.records.noteGone(record, 'absent', reading.stealReason)
    return reading.stealReason === undefined ? EXPIRED : stolenLoss(reading.stealReason)
  }

  /**
   * Shows the owner as it is now, and brings a waiter that was granted over to the session of its
   * TTL.
   */
  async #write(
    queueEntry: QueueEntry<S>,
    reading: Present,
    renewal: Renewal,
    session: Session<S>,
  ): Promise<boolean> {
    const moves = queueEntry.session !== session
    const data = this.#shown(reading.data, queueEntry, renewal)
    queueEntry.version = reading.version
    queueEntry.data = reading.data
    if (!moves && JSON.stringify(data) === JSON.stringify(reading.data)) return true
    const { entry } = queueEntry
    const writing = this.#context.service.amend(
      entry,
      data,
      reading.version,
      moves ? session.handle : undefined,
    )
    // What is shown is no reason to lose a lease: a service whose disk is full still keeps sessions
    // alive.
    const version = await (moves ? writing : writing.catch(() => reading.version))
    if (version === undefined) return false
    queueEntry.version = version
    queueEntry.data = data
    queueEntry.session = session
    return true
  }

  #shown(data: EntryData, queueEntry: QueueEntry<S>, { owner, ttlMs }: Renewal): EntryData {
    if (data.grantedMs !== undefined || queueEntry.waitingMs === -Infinity)
      return { ...data, owner, ttlMs }
    const heldMs = this.#context.clock.monotonicMs() - queueEntry.grantedMs
    return { ...data, owner, ttlMs, grantedMs: Math.round(this.#context.clock.wallMs() - heldMs) }
  }
}
