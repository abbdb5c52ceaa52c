/** What a process does while a store is measured. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Stage } from '../../processes/protocol.js'
import type { ServiceName } from '../../services/catalogue.js'
import { openShop } from '../../shop/open.js'
import { openLocks, type StoreName } from '../../strategies/stores.js'

export interface MeasureSettings {
  readonly store: StoreName
  readonly addresses: Readonly<Partial<Record<ServiceName, string>>>
  readonly folder: string
  /** Where the database is, for the stores that are in one. */
  readonly shop: string
  readonly ttlMs: number
  readonly forMs: number
}

/**
 * When a lease was granted and when it was released, in milliseconds of a clock that all
 * processes share.
 */
export type Tenure = readonly [grantedMs: number, releasedMs: number]

const IN_FLIGHT = 64

/** The speed of free locks, and what the store says of itself. */
export interface FreeFigures {
  readonly pairsPerSecond: number
  readonly queue: boolean
}

const sharedNowMs = (): number => performance.timeOrigin + performance.now()

async function withLocks<T>(
  settings: MeasureSettings,
  use: (locks: Awaited<ReturnType<typeof openLocks>>['locks']) => Promise<T>,
): Promise<T> {
  const { store, addresses, folder, ttlMs } = settings
  const shop = await openShop(settings.shop)
  const premises = { shop, addresses, folder, ttlMs, segments: 1, index: 0, meet: async () => {} }
  const { locks, close } = await openLocks(store, premises, { fairness: 'fifo' })
  try {
    return await use(locks)
  } finally {
    await close()
    await shop.close()
  }
}

/**
 * Returns how many free locks were acquired and released in a second, as many at a time as a busy
 * server has.
 */
export function measureFree(settings: MeasureSettings): Promise<FreeFigures> {
  return withLocks(settings, async (locks) => {
    const endMs = performance.now() + settings.forMs
    let pairs = 0
    await Promise.all(
      Array.from({ length: IN_FLIGHT }, async (_, index) => {
        while (performance.now() < endMs) {
          await locks.mutex(`free:${index}`).run(() => {})
          pairs += 1
        }
      }),
    )
    const { fair } = locks.store.traits
    return { pairsPerSecond: (pairs * 1000) / settings.forMs, queue: fair }
  })
}

/** One lock that goes back and forth between processes: when this one had it. */
export function measureHandOff(settings: MeasureSettings, stage: Stage): Promise<Tenure[]> {
  return withLocks(settings, async (locks) => {
    await stage.meet('both')
    const endMs = performance.now() + settings.forMs
    const tenures: Tenure[] = []
    while (performance.now() < endMs) {
      const lease = await locks.mutex('hot').acquire()
      const grantedMs = sharedNowMs()
      // The other one waits by now.
      await sleep(1)
      tenures.push([grantedMs, sharedNowMs()])
      await lease.release()
    }
    return tenures
  })
}

/** Takes the lock and never gives it back: it is killed. */
export function holdForEver(settings: MeasureSettings, stage: Stage): Promise<void> {
  return withLocks(settings, async (locks) => {
    await locks.mutex('held').acquire()
    await stage.meet('holds')
  })
}

/** Waits behind the one that is killed. */
export function waitBehind(settings: MeasureSettings, stage: Stage): Promise<void> {
  return withLocks(settings, async (locks) => {
    stage.note('waits')
    const lease = await locks.mutex('held').acquire()
    stage.note('granted')
    await lease.release()
  })
}
