/** The error of a wait that would never end. */
import { programText } from '../../errors.js'
import { LockError, type LockErrorDetails } from '../../lock-error.js'

/** A holder in a cycle, and the lock that it waits for. The next step holds that lock. */
export interface DeadlockStep {
  /** The full name of the lock that it holds. */
  readonly lock: string
  /** The claim that holds the lock. */
  readonly claimId: string
  /** The client that made the claim: one `createLocks` call. */
  readonly clientId: string
  /** The machine of the holder. */
  readonly host: string
  /** The process of the holder. */
  readonly pid: number
  /** The text that the holder's client was given as `label`. */
  readonly label?: string
  /** The full name of the lock that it waits for. */
  readonly waitsFor: string
}

/**
 * The caller holds leases, and waits for a lock whose holders wait for these leases. This wait was
 * ended, so that the others get their locks. Release what you hold, and begin again.
 */
export class DeadlockError extends LockError {
  /** @internal */
  static override readonly name: string = 'DeadlockError'
  /**
   * From the holder of the lock that this caller waited for to the caller itself. Each waits for
   * the lock that the next one holds, and the caller for the first one's.
   */
  readonly cycle: readonly DeadlockStep[]

  constructor(cycle: readonly DeadlockStep[], details: LockErrorDetails & { lock: string }) {
    const holders = cycle.map(
      (step) => `${programText(step)} holds "${step.lock}" and waits for "${step.waitsFor}"`,
    )
    super(
      'DEADLOCK',
      `The wait for "${details.lock}" would never end: ${holders.join('; ')}. ` +
        'Take these locks in the same order everywhere, or take them together with locks.multi.',
      details,
    )
    this.cycle = cycle
  }
}
