/**
 * The controls of `verification/broken-locks/` on a real server: they write their history
 * themselves.
 */
import {
  CONTROLS,
  goodLock,
  type ControlLease,
  type ControlLock,
  type HistoryWriter,
} from '@holdfast/broken-locks'
import { systemClock, systemRandom } from 'holdfast'
import type { Recorder } from '@holdfast/conformance'
import { connectRedis } from '@holdfast/broken-locks/ioredis'
import type { PlainLock, PlainSubject, Work } from './plain.js'

const TIMEOUT_MS = 200
const RETRY_MS = 100
/** A waiter gives up after this time. */
const LONGEST_WAIT_MS = 60_000

export function controlSubject(id: string, port: number, ttlMs: number): PlainSubject {
  const control = CONTROLS.find((one) => one.id === id)
  if (!control && id !== 'good') throw new Error(`There is no control ${id}.`)
  const redis = connectRedis(`redis://127.0.0.1:${port}`)
  const world = { clock: systemClock, random: systemRandom, redis }
  return {
    lock(lock, recorder) {
      const settings = {
        lock,
        ttlMs,
        requestTimeoutMs: TIMEOUT_MS,
        retryMs: RETRY_MS,
        history: readable(recorder),
      }
      return plainLock(control ? control.create(world, settings) : goodLock(world, settings))
    },
    close: () => redis.close(),
  }
}

/** A lock that knows no deadline has none to renew; a history on disk has no words for it. */
function readable(recorder: Recorder): HistoryWriter {
  return {
    note(note) {
      if (note.f !== 'renew' || note.type !== 'ok' || note.deadline_ns !== undefined)
        recorder.note(note)
    },
    deadlineNs: (remainingMs) => recorder.deadlineNs(remainingMs),
  }
}

function plainLock(lock: ControlLock): PlainLock {
  return {
    async run(work: Work) {
      const lease: ControlLease = await lock.acquire(AbortSignal.timeout(LONGEST_WAIT_MS))
      const { token } = lease
      await work({ believed: () => lease.held, ...(token === undefined ? {} : { token }) })
      await lease.release()
    },
  }
}
