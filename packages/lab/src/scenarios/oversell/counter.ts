/**
 * One process of the shop: buyers come, a few at a time, and each takes a strategy's way to the
 * shelf.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Stage } from '../../processes/protocol.js'
import type { ServiceName } from '../../services/catalogue.js'
import { openShop } from '../../shop/open.js'
import type { Shop } from '../../shop/shop.js'
import { STRATEGIES } from '../../strategies/index.js'
import type { Counter, Visit } from '../../strategies/strategy.js'

export interface CounterSettings {
  readonly strategy: string
  readonly shop: string
  readonly addresses: Readonly<Partial<Record<ServiceName, string>>>
  readonly folder: string
  readonly ttlMs: number
  readonly segments: number
  readonly index: number
  readonly buyers: readonly number[]
  /** How many of them are at the counter at the same time. */
  readonly atOnce: number
  readonly thinkMs: number
  /** How long a buyer waits for a lock before it leaves, in milliseconds. */
  readonly maxWaitMs: number
}

/** What a process reports while it sells. */
export type CounterNote =
  | { readonly kind: 'sold'; readonly waitMs: number }
  | { readonly kind: 'soldOut' }
  /** A buyer waited in vain, or met an error that is not part of the strategy. */
  | { readonly kind: 'left'; readonly why: string }
  /** A buyer has seen the last item. */
  | { readonly kind: 'sawLast' }

export const LAST_ITEM = 'last item'

export async function sellOut(settings: CounterSettings, stage: Stage): Promise<void> {
  const strategy = STRATEGIES.find(({ id }) => id === settings.strategy)
  if (!strategy) throw new Error(`There is no strategy "${settings.strategy}".`)
  const shop = await openShop(settings.shop)
  const { addresses, folder, ttlMs, segments, index } = settings
  const premises = {
    shop,
    addresses,
    folder,
    ttlMs,
    segments,
    index,
    meet: (point: string) => stage.meet(point),
  }
  const counter = await strategy.open(premises)
  try {
    await connect(shop, settings.atOnce)
    await stage.meet('open')
    const queue = [...settings.buyers]
    const serve = async (): Promise<void> => {
      for (let buyer = queue.shift(); buyer !== undefined; buyer = queue.shift()) {
        await attend(counter, buyer, settings, stage)
      }
    }
    await Promise.all(Array.from({ length: settings.atOnce }, serve))
  } finally {
    await counter.close()
    await shop.close()
  }
}

/**
 * Opens as many connections as there will be buyers at the same time: no buyer is to wait for that.
 */
async function connect(shop: Shop, connections: number): Promise<void> {
  await Promise.all(
    Array.from({ length: connections }, () => shop.transaction((tx) => tx.query('select 1'))),
  )
}

async function attend(
  counter: Counter,
  buyer: number,
  { thinkMs, maxWaitMs }: CounterSettings,
  stage: Stage,
): Promise<void> {
  const note = (what: CounterNote): void => stage.note(what)
  const visit: Visit = {
    buyer,
    waitLimit: AbortSignal.timeout(maxWaitMs),
    think: () => sleep(thinkMs),
    saw: (amount) => void (amount === 1 && note({ kind: 'sawLast' })),
    lastItem: () => stage.meet(LAST_ITEM),
  }
  const startMs = performance.now()
  try {
    const sale = await counter.buy(visit)
    note(
      sale === 'sold' ? { kind: 'sold', waitMs: performance.now() - startMs } : { kind: 'soldOut' },
    )
  } catch (error) {
    note({ kind: 'left', why: error instanceof Error ? error.message : String(error) })
  }
}
