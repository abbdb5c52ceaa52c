/**
 * Other libraries on the same Redis, used as a careful program would: with renewal and the news of
 * a loss where they have it.
 */
import { LockFactory } from '@verrou/core'
import { redisStore as verrouStore } from '@verrou/core/drivers/redis'
import type { HistoryNote, Recorder } from '@holdfast/conformance'
import { Redis } from 'ioredis5'
import { Mutex } from 'redis-semaphore'
import Redlock from 'redlock'
import { createLock, IoredisAdapter } from 'redlock-universal'
import type { PeerName } from './names.js'
import type { PlainLock, PlainSubject, Work } from './plain.js'

const RETRY_MS = 50
/** A waiter gives up after this time, as far as the library can. */
const LONGEST_WAIT_MS = 60_000
const RETRIES = LONGEST_WAIT_MS / RETRY_MS

/**
 * Calls back while the lock is held, with what says whether it still is, and until when it surely
 * is where that is known.
 */
type Using = (
  name: string,
  work: (believed: () => boolean, remainingMs?: number) => Promise<void>,
) => Promise<unknown>

export function peerSubject(name: PeerName, port: number, ttlMs: number): PlainSubject {
  const client = new Redis(port, '127.0.0.1')
  client.on('error', () => undefined)
  const using = USING[name](client, ttlMs)
  return {
    lock: (lock, recorder) => noted(lock, recorder, using),
    close: () => client.disconnect(),
  }
}

const USING: Readonly<Record<PeerName, (client: Redis, ttlMs: number) => Using>> = {
  redlock(client, ttlMs) {
    const settings = {
      retryDelay: RETRY_MS,
      retryCount: RETRIES,
      automaticExtensionThreshold: ttlMs / 3,
    }
    const redlock = new Redlock([client], settings)
    redlock.on('error', () => undefined)
    return (name, work) => redlock.using([name], ttlMs, (signal) => work(() => !signal.aborted))
  },
  'redis-semaphore': (client, ttlMs) => async (name, work) => {
    const options = { lockTimeout: ttlMs, acquireTimeout: LONGEST_WAIT_MS, retryInterval: RETRY_MS }
    const mutex = new Mutex(client, name, {
      ...options,
      refreshInterval: ttlMs / 3,
      onLockLost: () => undefined,
    })
    await mutex.acquire()
    try {
      await work(() => mutex.isAcquired)
    } finally {
      await mutex.release()
    }
  },
  verrou(client, ttlMs) {
    const store = verrouStore({ connection: client }).factory()
    const factory = new LockFactory(store, { retry: { delay: RETRY_MS, timeout: LONGEST_WAIT_MS } })
    return async (name, work) => {
      const lock = factory.createLock(name, ttlMs)
      if (!(await lock.acquire())) throw new Error('verrou gave up.')
      try {
        await work(() => !lock.isExpired(), lock.getRemainingTime() ?? 0)
      } finally {
        await lock.release()
      }
    }
  },
  'redlock-universal'(client, ttlMs) {
    const adapter = IoredisAdapter.from(client)
    const options = { adapter, ttl: ttlMs, retryAttempts: RETRIES, retryDelay: RETRY_MS }
    return (name, work) =>
      createLock({ ...options, key: name }).using((signal) => work(() => !signal.aborted))
  },
}

/** Writes the history of a library that knows nothing of histories. */
function noted(key: string, recorder: Recorder, using: Using): PlainLock {
  const note = (what: Omit<HistoryNote, 'key'>): void =>
    recorder.note({ key, mode: 'exclusive', weight: 1, capacity: 1, ...what })
  return {
    async run(work: Work) {
      let state: 'waiting' | 'holding' | 'over' = 'waiting'
      note({ f: 'acquire', type: 'invoke' })
      try {
        await using(key, async (believed, remainingMs) => {
          state = 'holding'
          const deadline =
            remainingMs === undefined ? {} : { deadline_ns: recorder.deadlineNs(() => remainingMs) }
          note({ f: 'acquire', type: 'ok', ...deadline })
          await work({ believed: () => believed() || lost() })
          state = 'over'
          note({ f: 'release', type: 'invoke' })
        })
        note({ f: 'release', type: 'ok' })
      } catch (error) {
        note(state === 'waiting' ? { f: 'acquire', type: 'fail' } : { f: 'release', type: 'info' })
        throw error
      }
      function lost(): false {
        if (state === 'holding') note({ f: 'lost', type: 'info' })
        state = 'over'
        return false
      }
    },
  }
}
