/**
 * The ladder of Redis locks, as the controls have them: each mends what broke the one before it.
 */
import {
  CONTROLS,
  type Control,
  type ControlLease,
  type ControlWorld,
  type RedisConnection,
} from '@holdfast/broken-locks'
import { systemClock, systemRandom } from 'holdfast'
import { readModifyWrite } from './steps.js'
import type { Premises, Strategy, Trouble } from './strategy.js'

const TIMEOUT_MS = 2000
const RETRY_MS = 5
/** Which lock of the first process is cut off between its two commands. */
const CUT_OFF = 3

export const RUNGS: readonly Control[] = CONTROLS.filter(({ rung }) => rung !== undefined)

export const REDIS_LADDER: readonly Strategy[] = RUNGS.map((control) => ({
  id: `redis-${control.id}`,
  sound: false,
  trouble: troubleOf(control),
  needs: ['redis'],
  open: (premises) => openRung(control, premises),
}))

/** Without an expiry a dead holder is what hurts; with one, a holder that outlives it. */
function troubleOf({ rung = 0 }: Control): Trouble {
  return rung <= 2 ? 'kill' : 'pause'
}

async function openRung(control: Control, premises: Premises): ReturnType<Strategy['open']> {
  const { connectRedis } = await import('@holdfast/broken-locks/ioredis')
  const real = connectRedis(premises.addresses.redis ?? '')
  const world: ControlWorld = {
    clock: systemClock,
    random: systemRandom,
    redis: control.rung === 2 && premises.index === 0 ? dyingBeforeExpire(real, premises) : real,
  }
  const { ttlMs } = premises
  return {
    async buy(visit) {
      // One handle for each buyer: a handle that is asked twice is a nested call of the same owner.
      // And a lock of its own for each rung, since some leave one behind that never ends.
      const lock = control.create(world, {
        lock: `shop:${control.id}`,
        ttlMs,
        requestTimeoutMs: TIMEOUT_MS,
        retryMs: RETRY_MS,
      })
      const lease = await lock.acquire(visit.waitLimit)
      try {
        return await readModifyWrite(premises.shop.direct, visit)
      } finally {
        await give(lease)
      }
    },
    close: async () => real.close(),
  }
}

async function give(lease: ControlLease): Promise<void> {
  await lease.release()
}

/** SETNX has answered, and EXPIRE is never sent: the conductor kills the process in between. */
function dyingBeforeExpire(connection: RedisConnection, { meet }: Premises): RedisConnection {
  let taken = 0
  return {
    ...connection,
    async command(...command) {
      if (command[0] === 'EXPIRE') {
        taken += 1
        if (taken === CUT_OFF) await meet('between SETNX and EXPIRE')
      }
      return connection.command(...command)
    },
  }
}
