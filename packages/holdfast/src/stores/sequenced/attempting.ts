/**
 * Attempts: entering the queue, keeping a place in it, and learning that it has become the first.
 *
 * An entry is made in one atomic step that also tells what stands before it. From then on whoever waits watches only what can
 * let it in, and looks again, at itself too, before it believes that it holds: a session that ended unnoticed takes its
 * entries with it, and a waiter that only counts those before it would find itself first in a queue it has left.
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
import { StoreUnavailableError } from '../../errors.js'
import type { StoreContext } from './context.js'
import { newEntryData, sameOwner, type EntryData } from './entry.js'
import type { Entered, PortSession } from './port.js'
import { everyoneHolds, mayGo, worthWatching } from './queue-rule.js'
import { Standpoint, type ClaimRecord } from './record.js'
import type { Session } from './session.js'

/** A session may end just while an entry is made on it; more often than that something else is wrong. */
const TRIES = 3

const WAITING: AttemptResult = { outcome: 'waiting', holderRemainingMs: undefined }

export class Attempting<S extends PortSession> {
  readonly #context: StoreContext<S>

  constructor(context: StoreContext<S>) {
    this.#context = context
  }

  async attempt(claim: Claim, options: AttemptOptions): Promise<AttemptResult> {
    const { records } = this.#context
    const known = records.get(claim)
    if (known?.withdrawn) return { outcome: 'withdrawn' }
    if (known?.standpoint) return this.#again(known, known.standpoint, claim, options)
    if (known?.entering) {
      await known.entering.catch(() => undefined)
      return this.attempt(claim, options)
    }
    const record = known ?? records.make(claim)
    const entering = this.#enter(record, claim, options)
    record.entering = entering
    try {
      return await entering
    } finally {
      record.entering = undefined
    }
  }

  /** Follows those before a claim that waits. Changes after the last look are never missed, so it works at once. */
  watch(claim: Claim, wake: WakeListener): Watch {
    const record = this.#context.records.get(claim)
    const standpoint = record?.standpoint
    if (record && standpoint) {
      standpoint.wake = wake
      this.#follow(record, standpoint)
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

  async #enter(record: ClaimRecord<S>, claim: Claim, options: AttemptOptions): Promise<AttemptResult> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const startMs = this.#context.clock.monotonicMs()
      const holder = await this.#context.sessions.ready(claim.ttlMs)
      const waiter = options.enqueue ? await this.#waiterSession(claim, holder, tries) : undefined
      // Given up while the session was being opened: an entry now would come after its own withdrawal.
      if (record.withdrawn) return { outcome: 'withdrawn' }
      const data = newEntryData(claim, this.#context.clock.wallMs())
      let opened = waiter
      const openWaiter = async (): Promise<S> => {
        opened ??= await this.#context.sessions.ready(waitingTtlMs(claim))
        return opened.handle
      }
      // The sign of life and the entry travel together; the grant counts only when both were answered.
      const [alive, result] = await bothOf(
        this.#assure(claim, holder, waiter),
        this.#context.port.enter(claim, data, {
          holder: holder.handle,
          waiter: waiter?.handle,
          openWaiter: options.enqueue ? openWaiter : undefined,
        }),
      )
      if (record.withdrawn) return { outcome: 'withdrawn' }
      if (result.outcome === 'mismatch') throw this.#context.mismatch(claim, result)
      if (result.outcome === 'withdrawn') return this.#forget(record, result)
      if (result.outcome === 'busy') {
        if (!options.enqueue) return this.#forget(record, { ...result, holderRemainingMs: undefined })
        // It has to wait, and the session for that was not open yet.
        await this.#context.sessions.ready(waitingTtlMs(claim))
        continue
      }
      if (result.outcome === 'entered' && alive) {
        const session = result.onWaiterSession && opened ? opened : holder
        return this.#entered(record, { claim, options, session, holder, data, startMs }, result)
      }
      if (result.outcome === 'no-session') for (const session of [holder, waiter]) await session?.keepAlive()
    }
    throw new StoreUnavailableError(
      `The session with the ${this.#context.name} store ended ${TRIES} times while "${claim.lock}" was asked for. ` +
        'Look at the store and the network.',
      { lock: claim.lock, store: this.#context.name },
    )
  }

  /**
   * Those who wait stand on a session of three heartbeats, so that a dead waiter holds nobody up.
   * It is opened when the first one has to wait: a client whose locks are free never needs it.
   */
  async #waiterSession(claim: Claim, holder: Session<S>, tries: number): Promise<Session<S> | undefined> {
    const { port, sessions } = this.#context
    if (!port.movable) return holder
    return (
      sessions.current(waitingTtlMs(claim)) ?? (tries > 0 ? sessions.ready(waitingTtlMs(claim)) : undefined)
    )
  }

  async #assure(claim: Claim, holder: Session<S>, waiter: Session<S> | undefined): Promise<boolean> {
    const [one, other] = await Promise.all([
      holder.assure(claim.ttlMs),
      waiter && waiter !== holder ? waiter.assure(waitingTtlMs(claim)) : true,
    ])
    return one && other
  }

  async #entered(record: ClaimRecord<S>, made: Made<S>, result: Entered): Promise<AttemptResult> {
    const { claim, options, session, holder, data, startMs } = made
    const standpoint = new Standpoint(claim, result.entry, session, data, result)
    standpoint.version = result.version
    standpoint.asked = options.tokens
    record.standpoint = standpoint
    if (!mayGo(claim, result.before)) {
      standpoint.waitingMs = startMs
      return WAITING
    }
    if (session !== holder) {
      // A semaphore's permit beside others: nothing was pushed, so it is given its whole TTL at once.
      const version = await this.#context.port.amend(result.entry, data, result.version, holder.handle)
      if (record.withdrawn) return { outcome: 'withdrawn' }
      if (version === undefined) return this.#again(record, standpoint, claim, options)
      standpoint.version = version
      standpoint.session = holder
    }
    return {
      outcome: 'granted',
      existing: false,
      ...standpoint.hold(startMs, claim.ttlMs, this.#context.clock.monotonicMs()),
      remainingMs: this.#left(standpoint),
    }
  }

  /** An attempt of a claim that stands in the queue: a heartbeat, or a message that was sent twice. */
  async #again(
    record: ClaimRecord<S>,
    standpoint: Standpoint<S>,
    claim: Claim,
    options: AttemptOptions,
  ): Promise<AttemptResult> {
    const startMs = this.#context.clock.monotonicMs()
    const [alive, look] = await bothOf(
      standpoint.grant ? !standpoint.session.lost : standpoint.session.assure(this.#waitingTtl(standpoint)),
      this.#context.look({ entry: standpoint.entry, claim }),
    )
    if (record.withdrawn) return { outcome: 'withdrawn' }
    if (!alive || look.state === 'absent') return this.#gone(record)
    standpoint.standing = look
    standpoint.version = look.version
    standpoint.data = look.data
    if (!standpoint.grant && !mayGo(claim, look.before)) {
      standpoint.waitingMs = startMs
      standpoint.asked = options.tokens
      if (!sameOwner(look.data.owner, claim.owner))
        this.#show(standpoint, { ...look.data, owner: claim.owner })
      if (standpoint.wake) this.#follow(record, standpoint)
      return WAITING
    }
    return this.#existing(standpoint)
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
    const grant = standpoint.hold(standpoint.waitingMs, this.#waitingTtl(standpoint), clock.monotonicMs())
    // The one behind it may fit beside it, and watches it.
    if (claim.kind === 'semaphore') this.#show(standpoint, { ...data, grantedMs: Math.round(clock.wallMs()) })
    return grant
  }

  /** Writes what others are to see of it. If that fails, a heartbeat of theirs or the next one of its own makes up for it. */
  #show(standpoint: Standpoint<S>, data: EntryData): void {
    this.#context.port.amend(standpoint.entry, data, standpoint.version).then(
      (version) => void (standpoint.version = version ?? standpoint.version),
      () => undefined,
    )
  }

  #follow(record: ClaimRecord<S>, standpoint: Standpoint<S>): void {
    const { claim, standing } = standpoint
    const places = worthWatching(claim, standing.before)
    const watched = places.map(({ key }) => key).join('\n')
    if (standpoint.watch && standpoint.watched === watched) return
    standpoint.stopWatching()
    standpoint.watched = watched
    const { moment } = standing
    const onlyGone = claim.weight >= claim.capacity
    const waits = !everyoneHolds(claim, standing.before)
    standpoint.watch = this.#context.port.watch({ places, moment, onlyGone, waits }, () => {
      standpoint.stopWatching()
      void this.#moved(record, standpoint)
    })
  }

  /** Something before it changed: look again, and wake it if it is its turn. */
  async #moved(record: ClaimRecord<S>, standpoint: Standpoint<S>): Promise<void> {
    try {
      const { entry, claim } = standpoint
      const look = await this.#context.look({ entry, claim })
      const { wake } = standpoint
      if (record.withdrawn || !wake || standpoint.grant) return
      if (look.state === 'absent') return wake()
      standpoint.standing = look
      standpoint.version = look.version
      standpoint.data = look.data
      if (mayGo(claim, look.before)) wake(this.#promote(standpoint))
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

  #forget<R extends AttemptResult>(record: ClaimRecord<S>, result: R): R {
    this.#context.records.drop(record)
    return result
  }

  #waitingTtl(standpoint: Standpoint<S>): number {
    return this.#context.port.movable ? waitingTtlMs(standpoint.claim) : standpoint.claim.ttlMs
  }

  #left(standpoint: Standpoint<S>): number {
    return standpoint.endMs - this.#context.clock.monotonicMs()
  }
}

interface Made<S extends PortSession> {
  readonly claim: Claim
  readonly options: AttemptOptions
  readonly session: Session<S>
  readonly holder: Session<S>
  readonly data: EntryData
  readonly startMs: number
}

/** Also how long a grant to a waiter lives until its first renewal. */
function waitingTtlMs({ ttlMs, heartbeatMs }: Claim): number {
  return Math.min(ttlMs, heartbeatMs * HEARTBEATS_TO_LIVE)
}

/** Waits for both answers, so that nothing is under way any more when the first failure is told. */
async function bothOf<A, B>(one: A | Promise<A>, other: Promise<B>): Promise<[A, B]> {
  const [first, second] = await Promise.allSettled([one, other])
  if (first.status === 'rejected') throw first.reason
  if (second.status === 'rejected') throw second.reason
  return [first.value, second.value]
}
