import { LockTimeoutError } from '../errors.js'

/** Returns the timeout of a call whose last attempt had only the rest of its time. */
export function timeoutOf(waitMs: number, error: LockTimeoutError): LockTimeoutError {
  const { lock = '', store, holders } = error
  return new LockTimeoutError(waitMs, { lock, store, holders, cause: error })
}
