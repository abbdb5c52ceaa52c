/** `lab oversell`: the same shop, the same rush, under one strategy after the other. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ActorGroup } from '../../processes/actor-group.js'
import type { ServiceName } from '../../services/catalogue.js'
import type { Services } from '../../services/services.js'
import { migrateShop, openShop } from '../../shop/open.js'
import { audit, restock, type Shop } from '../../shop/shop.js'
import { STRATEGIES } from '../../strategies/index.js'
import type { Strategy } from '../../strategies/strategy.js'
import type { CounterSettings } from './counter.js'
import { Rush, type OversellRow, type Watcher } from './rush.js'

export interface OversellSettings {
  readonly items: number
  readonly buyers: number
  readonly processes: number
  readonly segments: number
  /** How long the shop thinks between looking and taking, in milliseconds. */
  readonly thinkMs: number
  /** Ids of strategies; all of them when empty. */
  readonly strategies: readonly string[]
}

export interface StrategyLeftOut {
  readonly strategy: string
  readonly missing: ServiceName
}

export interface OversellResult {
  readonly settings: OversellSettings
  readonly rows: readonly OversellRow[]
  readonly leftOut: readonly StrategyLeftOut[]
}

/** Short, so that a pause that outlives it is short too. */
const TTL_MS = 1000
const PATIENCE_MS = 20_000
const AT_ONCE = 4
/**
 * How many rushes are begun until the fault of a strategy has come. Buyers that buy at the same
 * moment may take all that is left, and then none of them saw the last item.
 */
const MOST_TRIES = 5

export class Oversell {
  readonly #settings: OversellSettings
  readonly #services: Services
  readonly #group: ActorGroup
  readonly #folder = mkdtempSync(join(tmpdir(), 'holdfast-lab-'))
  readonly #shops = new Map<string, Shop>()

  constructor(settings: OversellSettings, services: Services) {
    this.#settings = settings
    this.#services = services
    this.#group = new ActorGroup(settings.processes)
  }

  async run(watcher: Watcher): Promise<OversellResult> {
    const { strategies } = this.#settings
    const chosen = STRATEGIES.filter(({ id }) => strategies.length === 0 || strategies.includes(id))
    const rows: OversellRow[] = []
    const leftOut: StrategyLeftOut[] = []
    for (const [index, strategy] of chosen.entries()) {
      watcher.began(strategy.id, index + 1, chosen.length)
      const row = await this.#play(strategy, watcher)
      if ('missing' in row) leftOut.push(row)
      else rows.push(row)
    }
    return { settings: this.#settings, rows, leftOut }
  }

  /**
   * Ends the processes, leaves the databases and removes the folder. The services are the caller's.
   */
  async end(): Promise<void> {
    await this.#group.end()
    await Promise.allSettled([...this.#shops.values()].map((shop) => shop.close()))
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #play(strategy: Strategy, watcher: Watcher): Promise<OversellRow | StrategyLeftOut> {
    const addresses: Partial<Record<ServiceName, string>> = {}
    for (const name of strategy.needs ?? []) {
      const address = await this.#services.address(name)
      if (address === undefined) return { strategy: strategy.id, missing: name }
      addresses[name] = address
    }
    const place = await this.#shopAddress(strategy.shop)
    if (place === undefined)
      return { strategy: strategy.id, missing: strategy.shop === 'mysql' ? 'mysql' : 'postgres' }
    const shop = await this.#open(place)
    const { items, buyers, segments } = this.#settings
    for (let tries = 1; ; tries += 1) {
      await restock(shop, items, segments)
      const rush = new Rush(strategy, shop, TTL_MS, watcher)
      await rush.run(this.#group, (index) =>
        this.#counterSettings(strategy, place, addresses, index),
      )
      const row = rush.row(items, buyers, await audit(shop, strategy.segmented === true))
      if (rush.hadItsTrouble || row.damaged || tries === MOST_TRIES) return row
    }
  }

  #counterSettings(
    strategy: Strategy,
    shop: string,
    addresses: CounterSettings['addresses'],
    index: number,
  ): CounterSettings {
    const { buyers, processes, segments, thinkMs } = this.#settings
    return {
      strategy: strategy.id,
      shop,
      addresses,
      // A short name: a long path would leave no room for the embedded store's sockets, which then
      // go elsewhere.
      folder: join(this.#folder, String(STRATEGIES.indexOf(strategy))),
      ttlMs: TTL_MS,
      segments,
      index,
      buyers: Array.from({ length: buyers }, (_, buyer) => buyer).filter(
        (buyer) => buyer % processes === index,
      ),
      atOnce: AT_ONCE,
      thinkMs,
      maxWaitMs: PATIENCE_MS,
    }
  }

  /** The database that a strategy is about, or the best there is. */
  async #shopAddress(wanted: Strategy['shop']): Promise<string | undefined> {
    if (wanted === 'postgres' || wanted === 'mysql') return this.#services.address(wanted)
    const server =
      (await this.#services.address('postgres')) ?? (await this.#services.address('mysql'))
    return server ?? (wanted === 'server' ? undefined : `sqlite:${join(this.#folder, 'shop.db')}`)
  }

  async #open(address: string): Promise<Shop> {
    const known = this.#shops.get(address)
    if (known) return known
    const shop = await openShop(address)
    this.#shops.set(address, shop)
    await migrateShop(shop)
    return shop
  }
}
