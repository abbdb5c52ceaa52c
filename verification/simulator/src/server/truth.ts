/**
 * What the server itself held: which claim, from when to when. It is read from the store after each
 * step, through `inspect`, so that it is right for any store, also for a broken one.
 */
import type { ClaimRef, HolderInfo, Store } from 'holdfast/store'
import type { Agenda } from '../world/agenda.js'
import type { MachineClock } from '../world/machine-clock.js'

/** One grant as the server knew it. Times are true times in milliseconds. */
export interface ServerHold {
  readonly lock: string
  readonly claimId: string
  readonly clientId: string
  token: bigint | undefined
  /** How many tokens the grant reserved, from `token` on. */
  tokens: number
  readonly weight: number
  readonly startMs: number
  /** When it was released, stolen or expired; for one that stands, when it will expire. */
  endMs: number
  /** How it ended, if it did. */
  ended: 'no' | 'withdrawn' | 'expired' | 'forgotten'
}

/** The tokens that a grant reserved. */
interface Block {
  readonly token: bigint
  readonly tokens: number
}

/** What the store as a whole held. */
export interface HeldTruth {
  readonly all: readonly ServerHold[]
  /** Grants to claims that had been withdrawn, and ought to have been refused. */
  readonly risen: readonly ServerHold[]
  /** What is still held after all clients were gone. */
  leftOver(goneMs: number): ServerHold[]
  /** Whether the store holds a lock for this claim now. */
  holds(claimId: string): boolean
}

/**
 * What is lost when a time is converted from one clock to another, and cut to whole microseconds.
 */
const ROUNDING_MS = 0.01

export class Truth implements HeldTruth {
  readonly all: ServerHold[] = []
  /** Grants to claims that had been withdrawn, and ought to have been refused. */
  readonly risen: ServerHold[] = []
  readonly #agenda: Agenda
  readonly #clock: MachineClock
  readonly #buriedUntilMs = new Map<string, number>()
  /** When the last withdrawal of each claim arrived. */
  readonly #withdrawnMs = new Map<string, number>()
  readonly #refused = new Set<string>()
  readonly #tokens = new Map<string, Block>()
  readonly #current = new Map<string, Map<string, ServerHold>>()

  constructor(agenda: Agenda, clock: MachineClock) {
    this.#agenda = agenda
    this.#clock = clock
  }

  /** Looks at a lock after a step that may have changed it. */
  observe(lock: string, store: Store): void {
    const found = store.inspect([lock])
    if ('then' in found) throw new Error('The store of a server must answer at once.')
    this.note(lock, found[0]?.holders ?? [])
  }

  /** These hold a lock now. */
  note(lock: string, holders: readonly HolderInfo[]): void {
    let known = this.#current.get(lock)
    if (!known) this.#current.set(lock, (known = new Map()))
    for (const hold of known.values()) {
      if (!holders.some(({ claimId }) => claimId === hold.claimId)) this.#end(known, hold)
    }
    for (const holder of holders) this.#update(lock, known, holder)
  }

  /** A grant reserved these tokens, of which `inspect` shows no more than one. */
  reserved(claimId: string, { token, tokens }: Block): void {
    this.#tokens.set(claimId, { token, tokens })
  }

  /** A claim was withdrawn: for its TTL it must not be granted. */
  withdrawn({ id, ttlMs }: ClaimRef): void {
    this.#withdrawnMs.set(id, this.#agenda.nowMs)
    if (this.#buriedUntilMs.has(id)) return
    this.#buriedUntilMs.set(id, this.#clock.trueMs(this.#clock.monotonicMs() + ttlMs))
  }

  /** The lock was busy, and the claim did not ask to queue: it leaves no trace in the store. */
  refused(claimId: string): void {
    this.#refused.add(claimId)
  }

  /**
   * What the server held when all clients were gone, and no withdrawal in flight has released
   * since. A grant to an attempt that arrives later does not count: no client is left to release
   * it. A doubled request that arrives after its claim was answered "busy" may find the lock free.
   * That costs a TTL, and is not worth a withdraw after every busy answer.
   */
  leftOver(goneMs: number): ServerHold[] {
    return this.all.filter(({ claimId, startMs, endMs, ended }) => {
      const stood = startMs <= goneMs && endMs > goneMs
      const givenBack =
        ended === 'withdrawn' || (this.#withdrawnMs.get(claimId) ?? -Infinity) >= startMs
      return stood && !givenBack && ended !== 'forgotten' && !this.#refused.has(claimId)
    })
  }

  get #standing(): ServerHold[] {
    const { nowMs } = this.#agenda
    return [...this.#current.values()].flatMap((known) =>
      [...known.values()].filter(({ endMs }) => endMs > nowMs),
    )
  }

  /** Whether the server holds a lock for this claim now. */
  holds(claimId: string): boolean {
    return this.#standing.some((hold) => hold.claimId === claimId)
  }

  /** The data is gone, and every grant with it. */
  forgetAll(): void {
    this.#buriedUntilMs.clear()
    for (const known of this.#current.values()) {
      for (const hold of known.values()) this.#end(known, hold, 'forgotten')
    }
  }

  /** The latest writes are lost: what was released since may be held again, without a holder. */
  setBack(): void {
    this.#buriedUntilMs.clear()
    for (const { claimId } of this.all) this.#refused.add(claimId)
  }

  #update(lock: string, known: Map<string, ServerHold>, holder: HolderInfo): void {
    const endMs = this.#clock.trueMs(this.#clock.monotonicMs() + holder.remainingMs)
    const { claimId, owner, weight } = holder
    const block = this.#tokens.get(claimId)
    const token = holder.token ?? block?.token
    const tokens = block?.tokens ?? 1
    const before = known.get(claimId)
    // A hold that ended unseen, and was granted again, is another hold.
    if (before && before.endMs < this.#agenda.nowMs - ROUNDING_MS) this.#end(known, before)
    else if (before) {
      before.endMs = endMs
      // The answer that names the tokens may come after the grant. Until then the block is one that
      // an earlier grant of the same claim reserved.
      before.token = token ?? before.token
      before.tokens = tokens
      return
    }
    const startMs = this.#agenda.nowMs
    const hold: ServerHold = {
      lock,
      claimId,
      clientId: owner.clientId,
      token,
      tokens,
      weight,
      startMs,
      endMs,
      ended: 'no',
    }
    known.set(claimId, hold)
    this.all.push(hold)
    if (startMs < (this.#buriedUntilMs.get(claimId) ?? 0)) this.risen.push(hold)
  }

  #end(known: Map<string, ServerHold>, hold: ServerHold, how?: 'forgotten'): void {
    known.delete(hold.claimId)
    const { nowMs } = this.#agenda
    hold.ended = how ?? (hold.endMs <= nowMs ? 'expired' : 'withdrawn')
    hold.endMs = Math.min(hold.endMs, nowMs)
  }
}
