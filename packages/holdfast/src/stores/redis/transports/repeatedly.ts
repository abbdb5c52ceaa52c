/** Subscriptions that a server refuses at first, or that break with their connection. Waiters have their heartbeats meanwhile. */

const PAUSE_MS = 500

/** Does it until it has gone well once, or until the returned function is called. */
export function repeatedly(work: () => Promise<void>): () => void {
  let stopped = false
  let retry: NodeJS.Timeout | undefined
  const once = (): void => {
    work().catch(() => {
      if (!stopped) retry = setTimeout(once, PAUSE_MS).unref()
    })
  }
  once()
  return () => {
    stopped = true
    clearTimeout(retry)
  }
}
