/** Closes connections that may not answer any more. */
import { settlesWithin } from '../../../clock/settles-within.js'

/** How long closing may take, in milliseconds. */
const CLOSE_LIMIT_MS = 200

/** Resolves when `closing` has settled, or after a short limit; then it calls `destroy`. */
export async function closeWithin(
  closing: PromiseLike<unknown> | undefined,
  destroy?: () => void,
): Promise<void> {
  // Closing fails for a connection that is broken or has ended already.
  if (!(await settlesWithin(Promise.resolve(closing), CLOSE_LIMIT_MS))) destroy?.()
}
