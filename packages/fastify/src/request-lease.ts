/** The lease of a request: a lease whose signal also aborts when the client disconnects. */
import type { Lease, MultiLease } from 'holdfast'

type Method = (...args: unknown[]) => unknown

/**
 * Returns the lease with another signal: it aborts with that of the lease or with `signal`. Its
 * private fields stay those of the lease, so each member is called on it.
 */
export function withSignal<L extends Lease | MultiLease>(lease: L, signal: AbortSignal): L {
  let both: AbortSignal | undefined
  const requestLease: L = new Proxy(lease, {
    get(target, key) {
      if (key === 'signal') return (both ??= firstOf(target.signal, signal))
      const member: unknown = Reflect.get(target, key, target)
      if (typeof member !== 'function') return member
      const method = (member as Method).bind(target)
      // The work gets this lease too.
      if (key === 'run') return (work: unknown, ...more: unknown[]) => method(given(work), ...more)
      return method
    },
  })
  const given = (work: unknown): unknown =>
    typeof work === 'function' ? () => (work as Method)(requestLease) : work
  return requestLease
}

/** As `AbortSignal.any`, with which some versions of Node keep listeners forever. */
export function firstOf(...signals: readonly AbortSignal[]): AbortSignal {
  const controller = new AbortController()
  for (const signal of signals) {
    const abort = (): void => controller.abort(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  }
  return controller.signal
}
