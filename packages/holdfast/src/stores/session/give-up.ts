/** Whoever is given up while it opens a session leaves no connection behind. */

/** Calls `end` when `signal` is aborted, also when it was before. */
export function endWhen(signal: AbortSignal, end: () => void): void {
  if (signal.aborted) end()
  else signal.addEventListener('abort', end, { once: true })
}
