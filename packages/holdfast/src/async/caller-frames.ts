/**
 * Shows in the stack of an error which call it rejects.
 *
 * Errors of waits come into being in timers and in answers of servers: their stacks lead there, and
 * not to the code that called `acquire`. The engine knows which functions await a promise, so the
 * frames of the caller are looked up when the promise rejects. A wait that succeeds pays nothing.
 */
import { isLockError } from '../lock-error.js'

/**
 * Rejects for the callers that await a promise which was resolved with this one.
 * @param reason an error of Holdfast gets the frames of its callers; any other reason is passed on
 */
export async function rejectForCallers(reason: unknown): Promise<never> {
  // After two turns of the microtask queue the other promise follows this one.
  await Promise.resolve()
  await Promise.resolve()
  throw withCallerFrames(reason, 1)
}

/** Errors of Holdfast that have rejected a call, with their stack before that. */
const rejected = new WeakMap<Error, string | undefined>()

/**
 * Returns the error for one of several callers. Callers of one lock wait for the same answer of the
 * store. Each gets an error of its own, or the stack of each would show the frames of all.
 */
export function forOneCaller<E>(error: E): E {
  if (!isLockError(error)) return error
  const shared: Error = error
  if (!rejected.has(shared)) {
    rejected.set(shared, shared.stack)
    return error
  }
  const { stack: _, ...own } = Object.getOwnPropertyDescriptors(shared)
  const copy = new Error(shared.message)
  Object.setPrototypeOf(copy, Object.getPrototypeOf(shared) as object)
  Object.defineProperties(copy, own)
  const stack = rejected.get(shared)
  if (stack !== undefined) copy.stack = stack
  return copy as E
}

/**
 * Adds the frames of the present call to the stack of an error of Holdfast, and returns the error.
 * @param ownFrames how many of the first frames are left out
 */
export function withCallerFrames<E>(error: E, ownFrames = 0): E {
  if (!isLockError(error)) return error
  const place: { stack?: unknown } = {}
  Error.captureStackTrace(place, withCallerFrames)
  const { stack } = error as Error
  // A program may have replaced how stacks are written.
  if (typeof place.stack !== 'string' || typeof stack !== 'string') return error
  const frames = place.stack.split('\n').slice(1 + ownFrames)
  const missing = frames.filter((frame) => !stack.includes(frame))
  if (missing.length > 0) error.stack = [stack, ...missing].join('\n')
  return error
}
