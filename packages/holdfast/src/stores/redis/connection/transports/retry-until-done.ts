/**
 * Subscriptions that a server refuses at first, or that break with their connection. Waiters have
 * their heartbeats meanwhile.
 */

import { isServerError } from '../../errors.js'

const PAUSE_MS = 500
const LONGEST_RETRY_MS = 1000

/** When to connect again, for connections that are not given up before they are closed. */
export function retryMs(times: number): number {
  return Math.min(times * 50, LONGEST_RETRY_MS)
}

/**
 * Repeats `work` until it has succeeded once, or until the returned function is called.
 * @param refused called with each answer of a server that refuses it
 */
export function retryUntilDone(
  work: () => Promise<void>,
  refused: (error: unknown) => void,
): () => void {
  let stopped = false
  let retry: NodeJS.Timeout | undefined
  const once = (): void => {
    work().catch((error: unknown) => {
      if (stopped) return
      if (isServerError(error)) refused(error)
      retry = setTimeout(once, PAUSE_MS).unref()
    })
  }
  once()
  return () => {
    stopped = true
    clearTimeout(retry)
  }
}
