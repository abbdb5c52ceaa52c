/** What this client remembers of its own claims: where they stand, and which were withdrawn. */
import { OldestKeys } from '../../../collections/oldest-keys.js'
import { invariant } from '../../../invariant.js'
import type { Claim, ClaimRef, WakeListener, WithdrawOutcome } from '../../../store/contract.js'
import { LARGEST_BLOCK, tokenOf, type EntryData } from '../wire.js'
import type {
  Entry,
  ServiceSession,
  ServiceWatch,
  Present,
  QueuePosition,
  Waits,
} from '../connection/service.js'
import type { Session } from '../session.js'

/**
 * Withdrawn claims are remembered up to this number: verbs of one process run in the order of the
 * calls.
 */
const WITHDRAWN_KEPT = 10_000

export interface Grant {
  readonly token: bigint
  readonly tokens: number
  readonly ttlMs: number
}

/** A claim that has an entry in the service. */
export class QueueEntry<S extends ServiceSession> {
  readonly claim: Claim
  readonly entry: Entry
  session: Session<S>
  data: EntryData
  version: bigint
  /** How many tokens its last attempt asked for. */
  asked: number
  /**
   * When the last attempt that was answered "waiting" was made: a grant that is found later came
   * after it.
   */
  waitingMs: number
  grant: Grant | undefined
  /** When this client learned of the grant. */
  grantedMs = 0
  /** When the grant ends unless it is renewed, on the monotonic clock. */
  endMs = Infinity
  position: QueuePosition
  /** What stood before it when it entered, while that is still being read. */
  later: Promise<QueuePosition | undefined> | undefined
  wake: WakeListener | undefined
  watch: ServiceWatch | undefined
  watched = ''
  /** A withdrawal that brought no answer: it may have been done. */
  removalInDoubt = false
  leaving: Promise<WithdrawOutcome> | undefined
  /** The entry is not what was last read or written here. */
  #changed = false

  constructor(
    claim: Claim,
    entry: Entry,
    session: Session<S>,
    data: EntryData,
    position: QueuePosition,
  ) {
    this.claim = claim
    this.entry = entry
    this.session = session
    this.data = data
    this.version = 0n
    this.asked = 1
    this.waitingMs = -Infinity
    this.position = position
  }

  /**
   * The version to name in a check that need not read the entry. Undefined when the entry has to be
   * read.
   */
  get seen(): bigint | undefined {
    return this.grant || this.#changed ? undefined : this.version
  }

  /** Notes what a read has shown. */
  see(reading: Present | Waits): void {
    this.later = undefined
    this.position = reading
    if (reading.state === 'waits') return
    this.version = reading.version
    this.data = reading.data
    this.#changed = false
  }

  /** Notes the answer to a write: without a version the entry has changed, or is gone. */
  wrote(version: bigint | undefined, data: EntryData): void {
    this.#changed = version === undefined
    if (version === undefined) return
    this.version = version
    this.data = data
  }

  /** From now on it holds the lock, until `startMs + ttlMs`. */
  hold(startMs: number, ttlMs: number, nowMs: number): Grant {
    invariant(this.grant === undefined, 'a claim is granted once', this.claim.lock)
    invariant(startMs <= nowMs, 'a grant counts from a moment that has passed', this.claim.lock)
    this.grantedMs = nowMs
    this.grant = {
      token: tokenOf(this.entry.number),
      // Not more than the entry shows: others would take its first token for the lease's.
      tokens: Math.min(this.asked, this.data.tokens ?? 1, LARGEST_BLOCK),
      ttlMs,
    }
    this.endMs = startMs + ttlMs
    return this.grant
  }

  /** What taking it out comes to. */
  get outcome(): WithdrawOutcome {
    return this.grant ? 'released' : 'left'
  }

  stopWatching(): void {
    this.watch?.close()
    this.watch = undefined
    this.watched = ''
  }
}

/** A claim, from its first attempt until it is forgotten. */
export interface ClaimRecord<S extends ServiceSession> {
  readonly key: string
  /** An attempt that has not been answered yet. */
  entering: Promise<unknown> | undefined
  /** Whether an unknown entry may be in the service, or on its way there. */
  inDoubt: boolean
  queueEntry: QueueEntry<S> | undefined
  /** It is refused from now on. */
  withdrawn: boolean
  /** A request in flight that refuses it. */
  blocking: Promise<WithdrawOutcome> | undefined
  /** What the withdrawal came to, once that is known. */
  outcome: WithdrawOutcome | undefined
  /** The reason of the steal that removed it, once that is known. Empty where none was given. */
  stealReason: string | undefined
}

export class ClaimRecords<S extends ServiceSession> {
  readonly #alive = new Map<string, ClaimRecord<S>>()
  readonly #withdrawn = new Map<string, ClaimRecord<S>>()
  readonly #oldest = new OldestKeys(this.#withdrawn)

  get(claim: Pick<ClaimRef, 'lock' | 'id'>): ClaimRecord<S> | undefined {
    const key = keyOf(claim)
    return this.#alive.get(key) ?? this.#withdrawn.get(key)
  }

  make(claim: Pick<ClaimRef, 'lock' | 'id'>, inDoubt: boolean): ClaimRecord<S> {
    const key = keyOf(claim)
    const record: ClaimRecord<S> = {
      key,
      entering: undefined,
      inDoubt: inDoubt,
      queueEntry: undefined,
      withdrawn: false,
      blocking: undefined,
      outcome: undefined,
      stealReason: undefined,
    }
    this.#alive.set(key, record)
    return record
  }

  /** Whether any claim stands in the service. */
  get busy(): boolean {
    return [...this.#alive.values()].some(
      ({ entering, queueEntry }) => entering !== undefined || queueEntry !== undefined,
    )
  }

  /** Forgets a claim that left no trace in the service. */
  drop(record: ClaimRecord<S>): void {
    if (!record.withdrawn) this.#alive.delete(record.key)
  }

  /** Refuses it from now on. Its queueEntry is kept until the outcome is known. */
  markWithdrawn(record: ClaimRecord<S>): void {
    record.withdrawn = true
    record.queueEntry?.stopWatching()
  }

  /** Notes that its entry is gone for certain. */
  noteGone(record: ClaimRecord<S>, outcome: WithdrawOutcome, stealReason?: string): void {
    this.markWithdrawn(record)
    record.stealReason = stealReason
    record.outcome = outcome
    record.queueEntry = undefined
    this.#alive.delete(record.key)
    this.#withdrawn.set(record.key, record)
    const oldest = this.#withdrawn.size > WITHDRAWN_KEPT ? this.#oldest.next() : undefined
    if (oldest !== undefined) this.#withdrawn.delete(oldest)
  }

  queueEntries(): QueueEntry<S>[] {
    return [...this.#alive.values()].flatMap(({ queueEntry }) => queueEntry ?? [])
  }
}

function keyOf({ lock, id }: Pick<ClaimRef, 'lock' | 'id'>): string {
  return `${id}\n${lock}`
}
