/**
 * Listening to a caller's AbortSignal.
 *
 * Many waits may share one signal, that of a server's shutdown for instance. Each signal has one
 * listener of ours, which serves all of them: Node warns of a leak where one signal has more than
 * ten.
 */
const waiting = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Calls `work` when the signal aborts, which it has not done yet. Returns what stops listening.
 * @param work must be another function each time, and must not throw
 */
export function onAbort(signal: AbortSignal, work: () => void): () => void {
  const works = waiting.get(signal) ?? listen(signal)
  works.add(work)
  return () => {
    if (works.delete(work) && works.size === 0) stopListening(signal)
  }
}

function listen(signal: AbortSignal): Set<() => void> {
  const works = new Set<() => void>()
  waiting.set(signal, works)
  signal.addEventListener('abort', abortAll)
  return works
}

function stopListening(signal: AbortSignal): void {
  waiting.delete(signal)
  signal.removeEventListener('abort', abortAll)
}

function abortAll(this: AbortSignal): void {
  const works = waiting.get(this)
  stopListening(this)
  for (const work of works ?? []) work()
}
