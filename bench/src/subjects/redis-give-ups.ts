/**
 * Waiters that give up: `redis-give-ups.js FAIRNESS PORT LOOPS`. One claim holds the lock; each
 * loop queues for it and gives up after a millisecond, again and again. In strict order (`fifo`)
 * each has a claim of its own in the server's queue.
 */
import { createLocks, LockTimeoutError, type Fairness } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { Redis } from 'ioredis5'
import { runFree } from '../free.js'
import type { Release } from '../locker.js'
import { redisMeter } from '../server-cpu.js'

const WAIT_MS = 1
const RUN_MS = 1500

const [fairness = 'fifo', port = '6379', loops = '64'] = process.argv.slice(2)
const client = new Redis(Number(port))
// Its own lock: the lease of an earlier run has not expired yet.
const name = `given up ${process.pid}`
const lease = await createLocks(redisStore({ client })).mutex(name).acquire()
const waiting = createLocks(redisStore({ client }), {
  fairness: fairness as Fairness,
}).mutex(name)

// A lease that nothing refers to would be reported as forgotten.
process.on('exit', () => void lease.release())
await runFree(() => giveUp, Number(loops), { runMs: RUN_MS, meter: redisMeter(Number(port)) })

/** What counts as a pair here: a claim that queues, and its withdrawal. */
async function giveUp(): Promise<Release> {
  try {
    await waiting.acquire({ waitMs: WAIT_MS })
  } catch (error) {
    if (error instanceof LockTimeoutError) return () => Promise.resolve()
    throw error
  }
  throw new Error('The lock was free.')
}
