/**
 * Standing in a queue: keeping a place in it, and learning that it has become the first.
 *
 * Whoever waits watches only what can let it in, and looks again, at itself too, before it believes that it holds: a session
 * that ended unnoticed takes its entries with it, and a waiter that only counts those before it would find itself first in a
 * queue it has left. Only when this client itself has handed the lock over is there no need to look (`neighbours.ts`).
 */
import {
  HEARTBEATS_TO_LIVE,
  type AttemptOptions,
  type AttemptResult,
  type Claim,
  type Granted,
  type WakeListener,
  type Watch,
} from '../../store/contract.js'
import type { StoreContext } from './context.js'
import { sameOwner, type EntryData } from './entry.js'
import type { Look, PortSession, Standing, Waits } from './port.js'
import { everyoneHolds, mayGo, wantsAll } from './queue-rule.js'
import type { ClaimRecord, Standpoint } from './record.js'

export const STILL_WAITING: AttemptResult = { outcome: 'waiting', holderRemainingMs: undefined }

export class Waiting<S extends PortSession> {
  readonly #context: StoreContext<S>

  constructor(context: StoreContext<S>) {
    this.#context = context
  }

  /** Follows those before a claim that waits. Changes after the last look are never missed, so it works at once. */
  watch(claim: Claim, wake: WakeListener): Watch {
    const record = this.#context.records.get(claim)
    const standpoint = record?.standpoint
    if (record && standpoint) {
      standpoint.wake = wake
      if (standpoint.later) void this.#followLater(record, standpoint, standpoint.later)
      else this.#follow(record, standpoint)
    }
    return {
      ready: undefined,
      close: () => {
        if (standpoint?.wake !== wake) return
        standpoint.wake = undefined
        standpoint.stopWatching()
      },
    }
  }

  /** An attempt of a claim that stands in the queue: a heartbeat, or a message that was sent twice. */
  async again(
    record: ClaimRecord<S>,
    standpoint: Standpoint<S>,
    claim: Claim,
    options: AttemptOptions,
  ): Promise<AttemptResult> {
    const startMs = this.#context.clock.monotonicMs()
    const [alive, look] = await bothOf(
      standpoint.grant ? !standpoint.session.lost : standpoint.session.assure(waitingTtlMs(standpoint.claim)),
      this.#look(standpoint, claim),
    )
    if (record.withdrawn) return { outcome: 'withdrawn' }
    if (!alive || look.state === 'absent') return this.#gone(record)
    standpoint.see(look)
    if (!standpoint.grant && !mayGo(claim, look)) {
      standpoint.waitingMs = startMs
      standpoint.asked = options.tokens
      const { data } = standpoint
      if (!sameOwner(data.owner, claim.owner)) this.#show(standpoint, { ...data, owner: claim.owner })
      if (standpoint.wake) this.#follow(record, standpoint)
      return STILL_WAITING
    }
    return this.#existing(standpoint)
  }

  #look({ entry, seen }: Standpoint<S>, claim: Claim): Promise<Look | Waits> {
    return seen === undefined
      ? this.#context.reader.look({ entry, claim })
      : this.#context.reader.look({ entry, claim, seen })
  }

  #existing(standpoint: Standpoint<S>): Granted {
    const grant = standpoint.grant ?? this.#promote(standpoint)
    return { outcome: 'granted', existing: true, ...grant, remainingMs: this.#left(standpoint) }
  }

  /** It has come to the front: it holds from the last moment at which it was certainly still waiting. */
  #promote(standpoint: Standpoint<S>): NonNullable<Standpoint<S>['grant']> {
    standpoint.stopWatching()
    const { claim, data } = standpoint
    const { clock } = this.#context
    const grant = standpoint.hold(standpoint.waitingMs, waitingTtlMs(standpoint.claim), clock.monotonicMs())
    // The one behind it may fit beside it, and watches it.
    if (claim.kind === 'semaphore') this.#show(standpoint, { ...data, grantedMs: Math.round(clock.wallMs()) })
    return grant
  }

  /** Writes what others are to see of it. If that fails, a heartbeat of theirs or the next one of its own makes up for it. */
  #show(standpoint: Standpoint<S>, data: EntryData): void {
    this.#context.port.amend(standpoint.entry, data, standpoint.version).then(
      (version) => standpoint.wrote(version, data),
      () => undefined,
    )
  }

  /** What stands before it is still being read. */
  async #followLater(
    record: ClaimRecord<S>,
    standpoint: Standpoint<S>,
    later: Promise<Standing | undefined>,
  ): Promise<void> {
    const standing = await later.catch(() => undefined)
    // A look was quicker.
    if (standpoint.later !== later) return
    standpoint.later = undefined
    if (record.withdrawn || !standpoint.wake || standpoint.grant) return
    if (!standing || mayGo(standpoint.claim, standing)) return this.#moved(record, standpoint)
    standpoint.standing = standing
    this.#follow(record, standpoint)
  }

  #follow(record: ClaimRecord<S>, standpoint: Standpoint<S>): void {
    const { claim, standing } = standpoint
    const places = standing.before
    const watched = places.map(({ key }) => key).join('\n')
    if (standpoint.watch && standpoint.watched === watched) return
    standpoint.stopWatching()
    standpoint.watched = watched
    const { moment } = standing
    const onlyGone = wantsAll(claim)
    const waits = !everyoneHolds(claim, standing)
    const moved = (): void => {
      standpoint.stopWatching()
      void this.#moved(record, standpoint)
    }
    const { port, neighbours } = this.#context
    const stopStanding = onlyGone
      ? neighbours.stand(watched, { go: () => this.#handedOver(record, standpoint), look: moved })
      : undefined
    const watch = port.watch({ places, moment, onlyGone, waits }, () => {
      if (!neighbours.isLeaving(watched)) moved()
    })
    standpoint.watch = {
      close: () => {
        stopStanding?.()
        watch.close()
      },
    }
  }

  /** The one right before it has held, and has left: it is the first, unless its session may be over. */
  #handedOver(record: ClaimRecord<S>, standpoint: Standpoint<S>): void {
    const { wake, claim, waitingMs, session } = standpoint
    standpoint.stopWatching()
    if (record.withdrawn || !wake || standpoint.grant) return
    const sure = !session.lost && this.#context.clock.monotonicMs() < waitingMs + waitingTtlMs(claim)
    if (sure) wake(this.#promote(standpoint))
    else void this.#moved(record, standpoint)
  }

  /** Something before it changed: look again, and wake it if it is its turn. */
  async #moved(record: ClaimRecord<S>, standpoint: Standpoint<S>): Promise<void> {
    try {
      const { claim } = standpoint
      const look = await this.#look(standpoint, claim)
      const { wake } = standpoint
      if (record.withdrawn || !wake || standpoint.grant) return
      if (look.state === 'absent') return wake()
      standpoint.see(look)
      if (mayGo(claim, look)) wake(this.#promote(standpoint))
      else this.#follow(record, standpoint)
    } catch {
      // Nobody waits for this look. The heartbeat of the waiter looks again, and reports what is wrong.
    }
  }

  /** Its entry is no more: the session ended, or somebody took it away. It will never be granted. */
  #gone(record: ClaimRecord<S>): AttemptResult {
    this.#context.records.settle(record, 'absent')
    return { outcome: 'withdrawn' }
  }

  #left(standpoint: Standpoint<S>): number {
    return standpoint.endMs - this.#context.clock.monotonicMs()
  }
}

/** Also how long a grant to a waiter lives until its first renewal. */
export function waitingTtlMs({ ttlMs, heartbeatMs }: Claim): number {
  return Math.min(ttlMs, heartbeatMs * HEARTBEATS_TO_LIVE)
}

/** Waits for both answers, so that nothing is under way any more when the first failure is told. */
export async function bothOf<A, B>(one: A | Promise<A>, other: Promise<B>): Promise<[A, B]> {
  const [first, second] = await Promise.allSettled([one, other])
  if (first.status === 'rejected') throw first.reason
  if (second.status === 'rejected') throw second.reason
  return [first.value, second.value]
}
