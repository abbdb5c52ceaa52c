/** Ending what may not answer any more. */
import { settlesWithin } from '../../clock/with-timeout.js'

/** A goodbye takes no longer, in milliseconds. */
const CLOSE_LIMIT_MS = 200

/**
 * Resolves when `goodbye` has ended one way or another, or is not worth waiting for any more: then
 * `tear` is called.
 */
export async function closeWithin(
  goodbye: PromiseLike<unknown> | undefined,
  tear?: () => void,
): Promise<void> {
  // A goodbye that fails was for a connection that is broken, or has ended already.
  if (!(await settlesWithin(Promise.resolve(goodbye), CLOSE_LIMIT_MS))) tear?.()
}
