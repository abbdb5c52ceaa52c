/**
 * The trace of a call that acquires, and the events of a call that got no lease. Each call has one
 * outcome. It says how long the caller waited; the events of claims say what the client did.
 */
import { withCallerFrames } from '../../async/caller-frames.js'
import { isLockError, LockTimeoutError } from '../../errors.js'
import type { WaitOptions } from '../../options/lock-options.js'
import { channels, publish } from './events.js'
import type { OpenWait } from './open-waits.js'
import type { ClaimTemplate, Runtime } from './runtime.js'
import { CallTrace, isTraced } from './traces.js'

// Looked up once, since each call checks them.
const { acquire: isAcquireTraced } = isTraced
const { busy, 'timed-out': timedOut, aborted } = channels

/** The events of calls that got no lease, by the outcomes of these. */
const EVENTS = { busy: 'busy', timeout: 'timed-out', aborted: 'aborted' } as const

/** A lease, as far as the trace of its call shows it. */
interface AcquiredLease {
  readonly claimId: string
  readonly token: bigint
  /** How often the grant passed to another caller: the last one has it. */
  readonly grant?: { readonly handOffs: number }
}

export class AcquireTrace extends CallTrace<'acquire'> {
  readonly #runtime: Runtime
  readonly #options: WaitOptions
  readonly #startedMs: number
  /** The wait of the caller. */
  #wait: OpenWait | undefined
  /** Whether `resign` has ended the call. */
  isResigned = false

  constructor(runtime: Runtime, { lock, kind }: ClaimTemplate, options: WaitOptions = {}) {
    super(runtime, 'acquire', { lock, kind })
    this.#runtime = runtime
    this.#options = options
    this.#startedMs = runtime.clock.monotonicMs()
  }

  /** Traces a call that resolves to its lease, or to undefined where the lock stayed busy. */
  acquire<T extends AcquiredLease | undefined>(call: () => T | PromiseLike<T>): Promise<T> {
    const settled = (lease: T): void => (lease ? this.grant(lease) : this.#refuse())
    return this.follow(call, settled, (error) => this.#fail(error))
  }

  /** Traces a call of `run`, which notes its grant itself. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (error) {
      this.#fail(error)
      throw error
    }
  }

  /** Notes the wait of the caller, which knows its claim. */
  noteWait(wait: OpenWait): void {
    this.#wait = wait
  }

  /** Notes the claim of the caller. */
  noteClaim(claimId = this.#wait?.source?.pending?.claimId): void {
    if (claimId !== undefined) this.context.claimId = claimId
  }

  protected override noteSent(): void {
    this.noteClaim()
  }

  grant({ claimId, token, grant }: AcquiredLease): void {
    this.context.claimId = claimId
    this.context.token = token
    this.settle(grant && grant.handOffs > 0 ? 'handed_off' : 'granted')
  }

  /** Ends without a lease and without an error. */
  #refuse(): void {
    const outcome = (this.#options.waitMs ?? 0) === 0 ? 'busy' : 'timeout'
    this.settle(outcome)
    this.#announce(outcome)
  }

  /** The frames of the trace leave none for the caller where a call fails before it waits. */
  #fail(error: unknown): void {
    if (!this.isSettled) this.reject(withCallerFrames(error, 1))
  }

  /** Ends with an error, unless the call got its lease before. */
  reject(error: unknown): void {
    if (this.isSettled) return
    const outcome = this.#outcomeOf(error)
    this.fail(outcome, error)
    if (outcome !== 'error') this.#announce(outcome)
  }

  #outcomeOf(error: unknown): 'busy' | 'timeout' | 'aborted' | 'error' {
    const { signal } = this.#options
    const isAborted = signal?.aborted === true && error === signal.reason
    if (isAborted || this.isResigned) return 'aborted'
    if (error instanceof LockTimeoutError) return error.waitMs === 0 ? 'busy' : 'timeout'
    return isLockError(error) && error.code === 'LOCKS_CLOSED' ? 'aborted' : 'error'
  }

  #announce(outcome: keyof typeof EVENTS): void {
    const event = EVENTS[outcome]
    if (!channels[event].hasSubscribers) return
    const { lock, kind, store, clientId, claimId } = this.context
    const durationMs = this.#runtime.clock.monotonicMs() - this.#startedMs
    publish(event, { lock, kind, store, clientId, claimId, durationMs })
  }
}

/** Returns a trace of a call, if its channels have subscribers. */
export function acquireTrace(
  runtime: Runtime,
  template: ClaimTemplate,
  options?: WaitOptions,
): AcquireTrace | undefined {
  const isWatched =
    isAcquireTraced() || busy.hasSubscribers || timedOut.hasSubscribers || aborted.hasSubscribers
  return isWatched ? new AcquireTrace(runtime, template, options) : undefined
}
