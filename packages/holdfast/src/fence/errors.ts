/** The errors of a resource that refuses a write. */
import { LockError, type LockErrorDetails } from '../lock-error.js'

/**
 * A protected resource has already seen a larger fencing token, or the same one from another owner.
 */
export class StaleTokenError extends LockError {
  /** @internal */
  static override readonly name: string = 'StaleTokenError'
  constructor(message: string, details: LockErrorDetails = {}) {
    super('STALE_TOKEN', message, details)
  }
}

/** An optimistic change met a newer version at each try. Nothing was written. */
export class VersionConflictError extends LockError {
  /** @internal */
  static override readonly name: string = 'VersionConflictError'
  /** How many tries were made. */
  readonly tries: number

  constructor(tries: number, details: LockErrorDetails & { lock: string }) {
    super(
      'VERSION_CONFLICT',
      `The row ${details.lock} was changed by others each of the ${tries} times that this change was tried. ` +
        'Nothing was written. Allow more tries, or use a lock for a row with many writers.',
      details,
    )
    this.tries = tries
  }
}
