/** What the verbs of a sequenced store share. */
import type { Clock } from '../../clock/clock.js'
import { LockUsageError, type LockError } from '../../errors.js'
import type { Claim, ClaimRef, WithdrawOutcome } from '../../store/contract.js'
import type { EnterResult, Look, LookedAt, PortSession, SequencedPort } from './port.js'
import { Neighbours } from './neighbours.js'
import { Records, type ClaimRecord, type Standpoint } from './record.js'
import { Sessions, type Session } from './session.js'

export class StoreContext<S extends PortSession> {
  readonly name: string
  readonly port: SequencedPort<S>
  readonly clock: Clock
  readonly records = new Records<S>()
  readonly neighbours = new Neighbours()
  readonly sessions: Sessions<S>
  /** Records whose withdrawal brought no answer, or whose stolen lease ran out: their entries must go. */
  readonly doomed = new Set<ClaimRecord<S>>()
  /** Claims that could not be refused: an attempt whose answer was lost may have entered them. */
  readonly #unbanished = new Map<ClaimRecord<S>, ClaimRef>()
  closed = false
  #asked: { at: LookedAt; resolve: (look: Look) => void; reject: (error: unknown) => void }[] = []

  constructor(name: string, port: SequencedPort<S>, clock: Clock) {
    this.name = name
    this.port = port
    this.clock = clock
    this.sessions = new Sessions(port, clock, (session) => this.#sweep(session))
  }

  /** Looks at an entry. All looks of one turn of the event loop travel together: a heartbeat is one request. */
  look(at: LookedAt): Promise<Look> {
    if (this.#asked.length === 0) queueMicrotask(() => void this.#lookAtAll())
    return new Promise<Look>((resolve, reject) => void this.#asked.push({ at, resolve, reject }))
  }

  assertOpen(lock: string): void {
    if (!this.closed) return
    throw new LockUsageError(`The ${this.name} store was closed before "${lock}" was asked for.`, {
      code: 'LOCKS_CLOSED',
      lock,
      store: this.name,
    })
  }

  mismatch(claim: Claim, other: Extract<EnterResult, { outcome: 'mismatch' }>): LockError {
    return new LockUsageError(
      `Lock "${claim.lock}" is in use as a ${other.kind} of capacity ${other.capacity}, ` +
        `and was asked for as a ${claim.kind} of capacity ${claim.capacity}. ` +
        'Let all its users agree on one kind and one number of permits, or use another name.',
      { code: 'LOCK_MISMATCH', lock: claim.lock, store: this.name },
    )
  }

  async #lookAtAll(): Promise<void> {
    const asked = this.#asked
    this.#asked = []
    try {
      const looks = await this.port.look(asked.map(({ at }) => at))
      for (const [index, { resolve }] of asked.entries()) resolve(looks[index] ?? { state: 'absent' })
    } catch (error) {
      for (const { reject } of asked) reject(error)
    }
  }

  /**
   * A session that lives on would keep alive what its owner could not withdraw, for ever. The runtime stops trying after
   * a TTL, since other stores have forgotten the claim by then; here the entry is taken out as soon as the service answers.
   */
  #sweep(session: Session<S>): void {
    const nowMs = this.clock.monotonicMs()
    const unbanished = [...this.#unbanished]
    this.#unbanished.clear()
    for (const [record, claim] of unbanished) this.banish(record, claim).catch(() => undefined)
    for (const record of this.doomed) {
      const standpoint = record.standpoint
      if (!standpoint || standpoint.session.lost) this.doomed.delete(record)
      else if (standpoint.session === session && (record.withdrawn || standpoint.endMs <= nowMs)) {
        this.doomed.delete(record)
        void this.takeOut(record)
      }
    }
  }

  /** Refuses a claim whose attempts may still arrive. Rejects when nobody answers, and does it again when somebody does. */
  async banish(record: ClaimRecord<S>, claim: ClaimRef): Promise<WithdrawOutcome> {
    if (record.outcome) return record.outcome
    try {
      const found = await this.port.banish(claim)
      const outcome = record.standpoint?.outcome ?? (found ? 'left' : 'absent')
      this.records.settle(record, outcome)
      return outcome
    } catch (error) {
      this.#unbanished.set(record, claim)
      throw error
    }
  }

  /** Takes out the entry of a claim that was withdrawn, now or as soon as the service answers. */
  async takeOut(record: ClaimRecord<S>): Promise<void> {
    const { standpoint } = record
    if (!standpoint) return
    const leave = async (): Promise<WithdrawOutcome> => {
      await this.port.leave(standpoint.entry)
      this.records.settle(record, standpoint.outcome)
      return standpoint.outcome
    }
    try {
      await this.leaving(standpoint, leave)
    } catch {
      // The next sign of life of the session tries again.
      if (record.standpoint) this.doomed.add(record)
    }
  }

  /** Whoever takes out an entry while that is being done already shares the answer. */
  leaving(standpoint: Standpoint<S>, leave: () => Promise<WithdrawOutcome>): Promise<WithdrawOutcome> {
    standpoint.leaving ??= leave().finally(() => (standpoint.leaving = undefined))
    return standpoint.leaving
  }
}
