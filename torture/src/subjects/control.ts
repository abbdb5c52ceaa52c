/** The controls of `controls/` on a real server: they write their history themselves. */
import { CONTROLS, goodLock, type ControlLease, type ControlLock } from '@holdfast/controls'
import { systemClock, systemRandom } from 'holdfast'
import { redisPort } from './redis-port.js'
import type { PlainLock, PlainSubject, Work } from './plain.js'

const TIMEOUT_MS = 200
const RETRY_MS = 100
/** Whoever waits for longer gives up. */
const PATIENCE_MS = 60_000

export function controlSubject(id: string, port: number, ttlMs: number): PlainSubject {
  const create = id === 'good' ? goodLock : CONTROLS.find((control) => control.id === id)?.create
  if (!create) throw new Error(`There is no control ${id}.`)
  const redis = redisPort(port)
  const world = { clock: systemClock, random: systemRandom, redis }
  return {
    lock(lock, history) {
      const settings = { lock, ttlMs, timeoutMs: TIMEOUT_MS, retryMs: RETRY_MS, history }
      return plainLock(create(world, settings))
    },
    close: () => redis.close(),
  }
}

function plainLock(lock: ControlLock): PlainLock {
  return {
    async run(work: Work) {
      const lease: ControlLease = await lock.acquire(AbortSignal.timeout(PATIENCE_MS))
      const { token } = lease
      await work({ believed: () => lease.held, ...(token === undefined ? {} : { token }) })
      await lease.release()
    },
  }
}
