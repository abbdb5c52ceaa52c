/**
 * Waiting in a queue: keeps the position of a claim, and notices when the claim may go.
 *
 * A waiter watches only the predecessors that can let it in. Before it believes that it holds, it
 * reads the queue again, with its own entry. A session that ended unnoticed takes its entries with
 * it. A waiter that only counted its predecessors would then find itself first in a queue that it
 * has left. Only when this client itself has handed the lock over is there no need to look
 * (`local-hand-offs.ts`).
 */
import {
  HEARTBEATS_TO_LIVE,
  type AttemptOptions,
  type AttemptResult,
  type Claim,
  type Granted,
  type WakeListener,
  type Watch,
  type Withdrawn,
} from '../../../store/contract.js'
import { stolenWithdrawal } from '../../../store/stolen.js'
import type { StoreContext } from './context.js'
import { sameOwner, type EntryData } from '../wire.js'
import type { EntryReading, ServiceSession, QueuePosition, Waits } from '../connection/service.js'
import { everyoneHolds, mayGo, wantsAll } from './queue-rule.js'
import type { ClaimRecord, QueueEntry } from './claim-records.js'

export const STILL_WAITING: AttemptResult = { outcome: 'waiting', holderRemainingMs: undefined }

export class QueueWaiter<S extends ServiceSession> {
  readonly #context: StoreContext<S>

  constructor(context: StoreContext<S>) {
    this.#context = context
  }

  /**
   * Follows those before a claim that waits. Changes after the last read are never missed, so it
   * works at once.
   */
  watch(claim: Claim, wake: WakeListener): Watch {
    const record = this.#context.records.get(claim)
    const queueEntry = record?.queueEntry
    if (record && queueEntry) {
      queueEntry.wake = wake
      if (queueEntry.later) void this.#followLater(record, queueEntry, queueEntry.later)
      else this.#follow(record, queueEntry)
    }
    return {
      ready: undefined,
      close: () => {
        if (queueEntry?.wake !== wake) return
        queueEntry.wake = undefined
        queueEntry.stopWatching()
      },
    }
  }

  /**
   * An attempt of a claim that stands in the queue: a heartbeat, or a message that was sent twice.
   */
  async again(
    record: ClaimRecord<S>,
    queueEntry: QueueEntry<S>,
    claim: Claim,
    options: AttemptOptions,
  ): Promise<AttemptResult> {
    const startMs = this.#context.clock.monotonicMs()
    const [lives, reading] = await bothOf<number | boolean, EntryReading | Waits>(
      this.#assure(queueEntry),
      this.#read(queueEntry, claim),
    )
    if (record.withdrawn) return { outcome: 'withdrawn' }
    if (reading.state === 'absent') return this.#gone(record, reading.stealReason)
    if (!lives) return this.#leave(record)
    queueEntry.see(reading)
    if (!queueEntry.grant && !mayGo(claim, reading)) {
      queueEntry.waitingMs = startMs
      queueEntry.asked = options.tokens
      await this.#showTerms(queueEntry, claim, options)
      if (record.withdrawn) return { outcome: 'withdrawn' }
      // A wake-up may have been quicker than the write.
      if (!queueEntry.grant) {
        if (queueEntry.wake) this.#follow(record, queueEntry)
        return STILL_WAITING
      }
    }
    return this.#existing(queueEntry)
  }

  /** Whether the session certainly lives for as long as the claim needs it. */
  #assure(queueEntry: QueueEntry<S>): Promise<number> | boolean {
    const { grant, session, claim } = queueEntry
    if (!grant) return session.assure(waitingTtlMs(claim))
    const leftMs = this.#left(queueEntry)
    // The machine may have slept since the grant, which the end of the lease does not count.
    return leftMs > 0 ? session.assure(leftMs) : !session.lost
  }

  /** Waits for the write only where the grant will have another number of tokens. */
  #showTerms(
    queueEntry: QueueEntry<S>,
    { owner }: Claim,
    { tokens: count }: AttemptOptions,
  ): Promise<void> | undefined {
    const { data } = queueEntry
    const tokens = count === 1 ? undefined : count
    if (data.tokens !== tokens) return this.#show(queueEntry, { ...data, owner, tokens })
    if (!sameOwner(data.owner, owner)) void this.#show(queueEntry, { ...data, owner })
    return undefined
  }

  #read({ entry, seen }: QueueEntry<S>, claim: Claim): Promise<EntryReading | Waits> {
    return seen === undefined
      ? this.#context.reader.read({ entry, claim })
      : this.#context.reader.read({ entry, claim, seen })
  }

  #existing(queueEntry: QueueEntry<S>): Granted {
    const grant = queueEntry.grant ?? this.#promote(queueEntry)
    return {
      outcome: 'granted',
      alreadyGranted: true,
      ...grant,
      remainingMs: this.#left(queueEntry),
    }
  }

  /**
   * It has come to the front: it holds from the last moment at which it was certainly still
   * waiting.
   */
  #promote(queueEntry: QueueEntry<S>): NonNullable<QueueEntry<S>['grant']> {
    queueEntry.stopWatching()
    const { claim, data } = queueEntry
    const { clock } = this.#context
    const grant = queueEntry.hold(
      queueEntry.waitingMs,
      waitingTtlMs(queueEntry.claim),
      clock.monotonicMs(),
    )
    // The one behind it may fit beside it, and watches it.
    if (claim.kind === 'semaphore')
      void this.#show(queueEntry, { ...data, grantedMs: Math.round(clock.wallMs()) })
    return grant
  }

  /**
   * Writes what others are to see of it. If that fails, a heartbeat of theirs or the next one of
   * its own makes up for it.
   */
  #show(queueEntry: QueueEntry<S>, data: EntryData): Promise<void> {
    return this.#context.service.amend(queueEntry.entry, data, queueEntry.version).then(
      (version) => queueEntry.wrote(version, data),
      () => undefined,
    )
  }

  /** What stands before it is still being read. */
  async #followLater(
    record: ClaimRecord<S>,
    queueEntry: QueueEntry<S>,
    later: Promise<QueuePosition | undefined>,
  ): Promise<void> {
    const position = await later.catch(() => undefined)
    // A read was quicker.
    if (queueEntry.later !== later) return
    queueEntry.later = undefined
    if (record.withdrawn || !queueEntry.wake || queueEntry.grant) return
    if (!position || mayGo(queueEntry.claim, position)) return this.#moved(record, queueEntry)
    queueEntry.position = position
    this.#follow(record, queueEntry)
  }

  #follow(record: ClaimRecord<S>, queueEntry: QueueEntry<S>): void {
    const { claim, position } = queueEntry
    const predecessors = position.before
    const watched = predecessors.map(({ key }) => key).join('\n')
    if (queueEntry.watch && queueEntry.watched === watched) return
    queueEntry.stopWatching()
    queueEntry.watched = watched
    const { moment } = position
    const onlyGone = wantsAll(claim)
    const waits = !everyoneHolds(claim, position)
    const moved = (): void => {
      queueEntry.stopWatching()
      void this.#moved(record, queueEntry)
    }
    const { service, localHandOffs } = this.#context
    const stopStanding = onlyGone
      ? localHandOffs.register(watched, {
          go: () => this.#handedOver(record, queueEntry),
          readAgain: moved,
        })
      : undefined
    const watch = service.watch({ predecessors, moment, onlyGone, waits }, () => {
      // The answer to the removal wakes a registered claim.
      if (!stopStanding || !localHandOffs.isLeaving(watched)) moved()
    })
    queueEntry.watch = {
      close: () => {
        stopStanding?.()
        watch.close()
      },
    }
  }

  /**
   * The one right before it has held, and has left: it is the first, unless its session may be
   * over.
   */
  #handedOver(record: ClaimRecord<S>, queueEntry: QueueEntry<S>): void {
    const { wake, claim, waitingMs, session } = queueEntry
    queueEntry.stopWatching()
    if (record.withdrawn || !wake || queueEntry.grant) return
    const sure =
      !session.lost && this.#context.clock.monotonicMs() < waitingMs + waitingTtlMs(claim)
    if (sure) wake(this.#promote(queueEntry))
    else void this.#moved(record, queueEntry)
  }

  /** Something before it changed: look again, and wake it if it is its turn. */
  async #moved(record: ClaimRecord<S>, queueEntry: QueueEntry<S>): Promise<void> {
    try {
      const { claim } = queueEntry
      const reading = await this.#read(queueEntry, claim)
      const { wake } = queueEntry
      if (record.withdrawn || !wake || queueEntry.grant) return
      if (reading.state === 'absent') return wake()
      queueEntry.see(reading)
      if (mayGo(claim, reading)) wake(this.#promote(queueEntry))
      else this.#follow(record, queueEntry)
    } catch {
      // No caller waits for this read. The heartbeat of the waiter looks again, and reports errors.
    }
  }

  /**
   * Its entry is no more: the session ended, or it was removed. It will never be granted.
   */
  #gone(record: ClaimRecord<S>, stealReason: string | undefined): AttemptResult {
    this.#context.records.noteGone(record, 'absent', stealReason)
    return withdrawn(record)
  }

  /**
   * Its session counts as over, and the service has the entry still: it would stand in the way.
   */
  #leave(record: ClaimRecord<S>): AttemptResult {
    this.#context.records.markWithdrawn(record)
    void this.#context.removing.remove(record)
    return { outcome: 'withdrawn' }
  }

  #left(queueEntry: QueueEntry<S>): number {
    return queueEntry.endMs - this.#context.clock.monotonicMs()
  }
}

/** Returns the answer to the attempt of a claim that is no more. */
export function withdrawn({
  stealReason,
}: Pick<ClaimRecord<ServiceSession>, 'stealReason'>): Withdrawn {
  return stealReason === undefined ? { outcome: 'withdrawn' } : stolenWithdrawal(stealReason)
}

/** Also how long a grant to a waiter lives until its first renewal. */
export function waitingTtlMs({ ttlMs, heartbeatMs }: Claim): number {
  return Math.min(ttlMs, heartbeatMs * HEARTBEATS_TO_LIVE)
}

/** Waits for both answers, so that nothing is in flight when it reports the first failure. */
export async function bothOf<A, B>(one: A | Promise<A>, other: Promise<B>): Promise<[A, B]> {
  const [first, second] = await Promise.allSettled([one, other])
  if (first.status === 'rejected') throw first.reason
  if (second.status === 'rejected') throw second.reason
  return [first.value, second.value]
}
