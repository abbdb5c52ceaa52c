/** Holdfast as a locker of the workloads. */
import type { Locks } from 'holdfast'
import type { Locker } from './locker.js'

export function throughLeases(locks: Locks): Locker {
  return (name) => {
    const mutex = locks.mutex(name)
    return async () => {
      const lease = await mutex.acquire()
      return () => lease.release()
    }
  }
}

async function nothing(): Promise<void> {}

/** A `run` is a whole pair: when it has ended, there is nothing to release. */
export function throughRuns(locks: Locks): Locker {
  return (name) => {
    const mutex = locks.mutex(name)
    return async () => {
      await mutex.run(nothing)
      return nothing
    }
  }
}
