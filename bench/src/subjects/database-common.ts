/** The subjects that are the same on both databases, and what the store says to them. */
import { setTimeout as pause } from 'node:timers/promises'
import type { KyselyOptions } from '@verrou/core/types'
import { LockFactory } from '@verrou/core'
import { kyselyStore } from '@verrou/core/drivers/kysely'
import { createLocks, type Fairness, type Store } from 'holdfast'
import { throughLeases, throughRuns } from '../holdfast-locker.js'
import type { Locker } from '../locker.js'

const TTL_MS = 30_000
/** How soon a peer that polls tries again: less than it does by itself, in its favour. */
export const RETRY_MS = 5

/** @param subject a fairness, or `run` without awaiting the release */
export function holdfast(store: Store, subject: string): Locker {
  if (subject === 'run') return throughRuns(createLocks(store, { awaitRelease: false }))
  return throughLeases(createLocks(store, { fairness: subject as Fairness }))
}

export function verrou(connection: KyselyOptions['connection']): Locker {
  const store = kyselyStore({ connection }).factory()
  const factory = new LockFactory(store, { retry: { delay: RETRY_MS } })
  return (name) => async () => {
    const lock = factory.createLock(name, TTL_MS)
    while (!(await acquired(lock))) await pause(RETRY_MS)
    return () => lock.release()
  }
}

/**
 * Awaits no release. The next attempt goes behind it, over a pool of one connection. On a lock of
 * this process alone: the last lease of an earlier one has not ended yet.
 */
export function unawaited(locker: Locker): Locker {
  return (name) => {
    const acquire = locker(`${name} of ${process.pid}`)
    return async () => {
      const release = await acquire()
      return () => {
        void release()
        return Promise.resolve()
      }
    }
  }
}

/** What the store says to the database for one claim on one lock. */
export function requestsOf(name: string, id: string) {
  const whole = 2 ** 31 - 1
  const owner = JSON.stringify({ clientId: 'by hand', host: 'localhost', pid: process.pid })
  const claim = { lock: name, id, kind: 'mutex', capacity: whole, weight: whole, ttlMs: TTL_MS }
  return {
    acquire: {
      verb: 'attempt',
      ...claim,
      heartbeatMs: 1000,
      owner,
      tokens: 33,
      enqueue: true,
      channel: 'unused',
    },
    release: { verb: 'withdraw', lock: name, id, ttlMs: TTL_MS },
  }
}

/** On MySQL the waiters for one lock run into deadlocks, which verrou passes on to its caller. */
async function acquired(lock: { acquire(): Promise<boolean> }): Promise<boolean> {
  try {
    return await lock.acquire()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ER_LOCK_DEADLOCK') return false
    throw error
  }
}
