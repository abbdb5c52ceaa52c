/** The subjects that are the same on both databases, and what the store says to them. */
import { randomUUID } from 'node:crypto'
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

/** Gives the row of a lock from one owner to the next, in one statement. */
export type Swap = (name: string, from: string, to: string) => Promise<unknown>

/**
 * Awaits no release: it goes with the next attempt. On a lock of this process alone: the last lease
 * of an earlier one has not ended yet.
 * @param take makes the row, with its first owner
 */
export function unawaited(
  take: (name: string, owner: string) => Promise<unknown>,
  swap: Swap,
): Locker {
  return (name) => {
    const lock = `${name} of ${process.pid}`
    let owner: string | undefined
    return async () => {
      const next = randomUUID()
      await (owner === undefined ? take(lock, next) : swap(lock, owner, next))
      owner = next
      return () => Promise.resolve()
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
