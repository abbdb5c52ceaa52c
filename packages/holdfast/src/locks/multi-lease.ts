// Projects with an older `lib` lack it, and the declarations name it.
/// <reference lib="esnext.disposable" preserve="true" />
/** The hold on all locks of a multi-lock. */
import { checkNoOptions } from '../options/known-keys.js'
import type { Lease, RenewOptions } from '../lease/hold/lease.js'
import { INSPECT } from '../store/with-json.js'

/** A hold on all locks of a multi-lock. It ends when the first of them ends. */
export interface MultiLease extends AsyncDisposable {
  /** The leases, in the order of their locks' names. */
  readonly leases: readonly Lease[]
  /** The fencing token of each lock, by its full name. */
  readonly tokens: ReadonlyMap<string, bigint>
  /** Whether all of them are held. */
  readonly held: boolean
  /** How long the first to end lasts, in milliseconds. */
  readonly remainingMs: number
  /** Aborts when the first of them is lost. */
  readonly signal: AbortSignal
  /**
   * Throws unless all of them are held, also right after a pause.
   * @throws LockLostError when one of them has ended.
   */
  assertHeld(): void
  /** Renews all. Throws as `lease.renew` does. */
  renew(options?: RenewOptions): Promise<void>
  /** Resolves when all last for at least `ms` more milliseconds. Throws as `lease.ensure` does. */
  ensure(ms: number): Promise<void>
  /**
   * Gives all back, the last taken first: `released` when each was. Throws what the first failing
   * release threw.
   */
  release(): Promise<'released' | 'lost'>
}

export class HeldMultiLease implements MultiLease {
  readonly leases: readonly Lease[]
  readonly tokens: ReadonlyMap<string, bigint>
  #signal: AbortSignal | undefined

  constructor(leases: readonly Lease[]) {
    this.leases = leases
    this.tokens = new Map(leases.map(({ name, token }) => [name, token]))
  }

  get held(): boolean {
    return this.leases.every((lease) => lease.held)
  }

  get remainingMs(): number {
    return Math.min(...this.leases.map((lease) => lease.remainingMs))
  }

  get signal(): AbortSignal {
    this.#signal ??= firstOf(this.leases.map((lease) => lease.signal))
    return this.#signal
  }

  assertHeld(extra?: unknown): void {
    checkNoOptions('assertHeld', extra)
    for (const lease of this.leases) lease.assertHeld()
  }

  async renew(options?: RenewOptions): Promise<void> {
    await Promise.all(this.leases.map((lease) => lease.renew(options)))
  }

  /** Again when one came nearer to its end while another renewed. */
  async ensure(ms: number, extra?: unknown): Promise<void> {
    checkNoOptions('ensure', extra)
    await Promise.all(this.leases.map((lease) => lease.ensure(ms)))
    await Promise.all(this.leases.map((lease) => lease.ensure(ms)))
  }

  async release(extra?: unknown): Promise<'released' | 'lost'> {
    checkNoOptions('release', extra)
    return releaseAll(this.leases)
  }

  toJSON(): object {
    const { leases, held, remainingMs } = this
    return { leases, held, remainingMs }
  }

  [INSPECT](): object {
    return this.toJSON()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const lease of this.leases.toReversed()) await lease[Symbol.asyncDispose]()
  }
}

/**
 * As `AbortSignal.any`, with which some versions of Node keep listeners forever.
 */
function firstOf(signals: readonly AbortSignal[]): AbortSignal {
  const controller = new AbortController()
  for (const signal of signals) {
    const abort = (): void => controller.abort(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  }
  return controller.signal
}

/** Releases every lease, also when one of the releases fails, and then throws the first failure. */
export async function releaseAll(leases: readonly Lease[]): Promise<'released' | 'lost'> {
  const outcomes = await Promise.allSettled(leases.toReversed().map((lease) => lease.release()))
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  return outcomes.every((outcome) => outcome.status === 'fulfilled' && outcome.value === 'released')
    ? 'released'
    : 'lost'
}
