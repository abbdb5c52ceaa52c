/** Jobs of BullMQ 6, one at a time for each customer. */
import { DelayedError } from 'bullmq'

/**
 * Returns a processor that calls `work(job, { lease, signal })` under a mutex. A job whose lock is
 * busy is delayed and comes again: the worker takes other jobs meanwhile. The jobs of one customer
 * keep no order. The signal aborts when the lease is lost or `worker.cancelJob` was called.
 *
 * @param nameOf returns the name of the mutex for a job
 */
export function oneAtATime(locks, nameOf, work, { againMs = 1000 } = {}) {
  // BullMQ makes a signal for a processor with three parameters only.
  return async (job, token, jobSignal) => {
    const lease = await locks.mutex(nameOf(job)).tryAcquire({ signal: jobSignal })
    if (lease === undefined) {
      // At different times, or all of them would come again at once.
      await job.moveToDelayed(Date.now() + againMs * (0.5 + Math.random()), token)
      throw new DelayedError()
    }
    try {
      const signal = AbortSignal.any([lease.signal, jobSignal])
      // Inside of a run `locks.close` waits for the job, and `locks.current` finds the lease.
      return await lease.run(() => work(job, { lease, signal }))
    } finally {
      // Its failure goes to the events: it must not make a done job fail.
      await lease[Symbol.asyncDispose]()
    }
  }
}
