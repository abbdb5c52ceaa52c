/**
 * The async context: what AsyncLocalStorage carries along with a chain of calls. `run-frames.ts`
 * keeps the locks that the chain holds in it.
 */
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'

const contexts = new AsyncLocalStorage<object | undefined>()
/**
 * Whether any context ever had a value. AsyncLocalStorage slows every promise of the process on
 * Node 20, so it stays unused until the first value.
 */
export let hasContexts = false

/** Returns the value of the current context. */
export function contextValue(): object | undefined {
  return hasContexts ? contexts.getStore() : undefined
}

/** Runs `work` in a context with this value. */
export function runWithValue<T>(value: object, work: () => T): T {
  hasContexts = true
  return contexts.run(value, work)
}

/** Runs `work` in a fresh context without a value: what it acquires waits like any other caller. */
export function detached<T>(work: () => T): T {
  return hasContexts ? contexts.run(undefined, work) : work()
}

/**
 * Runs `work` by way of `start`, which runs without the value of this context. `work` has it.
 */
export function startWithoutValue<T>(start: (work: () => T) => T, work: () => T): T {
  if (!hasContexts) return start(work)
  const value = contexts.getStore()
  return contexts.run(undefined, () => start(() => contexts.run(value, work)))
}

/**
 * Binds `work` to the current async context, without the value of that. Otherwise a callback from a
 * shared timer or connection would run in the context of the caller that created it.
 */
export function bindContext<A extends unknown[]>(work: (...args: A) => void): (...args: A) => void {
  // `AsyncResource.bind` takes many times as long.
  const here = new AsyncResource('Holdfast', { requireManualDestroy: true })
  return (...args) => here.runInAsyncScope(() => detached(() => work(...args)))
}

/**
 * Runs `work` outside of every caller's context: for timers and requests that serve many callers
 * and outlive the one that started them.
 */
export const outsideContext: <T>(work: () => T) => T = AsyncLocalStorage.snapshot()
