/** The error with which a signal aborts early. */
import { LockError, type LockErrorDetails } from '../../errors.js'

/**
 * The reason of `lease.signal` with `abortBeforeMs`: the lease ends soon unless a renewal gets
 * through. It is still held, still renewed, and can be released.
 */
export class LeaseAtRiskError extends LockError {
  /** @internal */
  static override readonly name: string = 'LeaseAtRiskError'
  /** How long the lease lasted when the signal aborted, in milliseconds. */
  readonly remainingMs: number

  constructor(remainingMs: number, details: LockErrorDetails & { lock: string }) {
    super(
      'LEASE_AT_RISK',
      `The lease on "${details.lock}" ends in ${Math.floor(remainingMs)} ms unless a renewal gets through. ` +
        'The lock is still held: stop the work, and release it.',
      details,
    )
    this.remainingMs = remainingMs
  }
}
