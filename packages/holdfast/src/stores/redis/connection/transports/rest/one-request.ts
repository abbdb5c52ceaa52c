/**
 * The rule of Cloudflare's runtime: what began in one request cannot be used in another one. Its
 * timers stop and its promises stay open when that request is over, and a caller of another request
 * would wait forever.
 */
import { isWorker } from '../../../../../clock/platform.js'
import { LockUsageError } from '../../../../../errors.js'
import { STORE_NAME } from '../../../errors.js'

/** Returns what throws in another request than its first call. Undefined on other platforms. */
export function oneRequestOnly(): ((lock: string) => void) | undefined {
  if (!isWorker()) return undefined
  let mark: Response | undefined
  return (lock) => {
    try {
      mark ??= new Response('.')
      // The runtime refuses this in another request.
      mark.clone()
    } catch {
      throw new LockUsageError(
        `Lock "${lock}": these locks belong to another request. On Cloudflare Workers call createLocks and ` +
          'redisStore in each request, and await locks.close() at its end.',
        { lock, store: STORE_NAME },
      )
    }
  }
}
