import { LockTimeoutError } from '../../errors.js'
import type { Runtime } from '../runtime/runtime.js'
import { LONG_WAIT_MS } from './caller-wait.js'

/**
 * Returns the timeout of a call whose last attempt had only the rest of its time. That may have
 * been too short to look for the holders.
 */
export async function timeoutWithHolders(
  runtime: Runtime,
  waitMs: number,
  error: LockTimeoutError,
): Promise<LockTimeoutError> {
  const { lock = '', store } = error
  const { isAnswered } = error
  const isUnasked = isAnswered && error.waitMs < LONG_WAIT_MS && waitMs >= LONG_WAIT_MS
  const holders = isUnasked ? await runtime.holdersOf(lock) : error.holders
  const { clientId } = runtime.owner
  return new LockTimeoutError(waitMs, { lock, store, holders, isAnswered, clientId, cause: error })
}
