/** `lab oversell`: the same shop, the same rush, under one strategy after the other. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Actor, Conduct } from '../../actor.js'
import { Troupe } from '../../processes/troupe.js'
import type { ServiceName } from '../../services/catalogue.js'
import type { Services } from '../../services/services.js'
import { migrateShop, openShop } from '../../shop/open.js'
import { audit, OTHER_ITEM, restock, type Shop, type ShopKind } from '../../shop/shop.js'
import { STRATEGIES } from '../../strategies/index.js'
import type { Strategy, Trouble } from '../../strategies/strategy.js'
import { percentile } from '../../report/figures.js'
import type { CounterNote, CounterSettings } from './counter.js'
import { driveTrouble } from './trouble.js'

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

export interface OversellRow {
  readonly strategy: string
  readonly sound: boolean
  readonly shop: ShopKind
  readonly trouble: Trouble | undefined
  readonly sold: number
  /** How many more were sold than there were. */
  readonly oversold: number
  /** How many sales the stock knows nothing of. */
  readonly lostUpdates: number
  /** Buyers that neither got an item nor learned that none is left. */
  readonly unserved: number
  /** Whether everything stood still in the end, and no buyer would ever have been served again. */
  readonly stuck: boolean
  /** How long a buyer of another item had to wait, where that was tried, in milliseconds. */
  readonly bystanderMs?: number
  /** Whether that was too long. */
  readonly blocked: boolean
  /** Until the trouble began, in milliseconds. */
  readonly ms: number
  readonly ordersPerSecond: number
  readonly p99Ms: number
  /** Whether anything went wrong that must not go wrong in a shop. */
  readonly damaged: boolean
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

export interface Watcher {
  began(strategy: string, number: number, of: number): void
  sold(strategy: string, count: number): void
}

/** Short, so that a pause that outlives it is short too. */
const TTL_MS = 1000
const PATIENCE_MS = 20_000
const AT_ONCE = 4
/**
 * How many rushes are begun until the fault of a strategy has come: buyers that buy at the same
 * moment may take all that is left, and then none of them saw the last item.
 */
const MOST_TRIES = 5
/** A bystander that waits longer than this had to wait. */
const BLOCKED_MS = 500

export class Oversell {
  readonly #settings: OversellSettings
  readonly #services: Services
  readonly #troupe: Troupe
  readonly #folder = mkdtempSync(join(tmpdir(), 'holdfast-lab-'))
  readonly #shops = new Map<string, Shop>()

  constructor(settings: OversellSettings, services: Services) {
    this.#settings = settings
    this.#services = services
    this.#troupe = new Troupe(settings.processes)
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
    await this.#troupe.end()
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
      const rush = new Rush(strategy, shop, watcher)
      await rush.run(this.#troupe, (index) =>
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

/** One rush of buyers on one shop. */
class Rush {
  readonly #strategy: Strategy
  readonly #shop: Shop
  readonly #watcher: Watcher
  readonly #waitsMs: number[] = []
  #served = 0
  #sold = 0
  #startMs = 0
  #lastSaleMs = 0
  #bystanderMs: number | undefined
  #stuck = false
  #troubled = false

  constructor(strategy: Strategy, shop: Shop, watcher: Watcher) {
    this.#strategy = strategy
    this.#shop = shop
    this.#watcher = watcher
  }

  /** Whether what the strategy is to go through came to pass. */
  get hadItsTrouble(): boolean {
    return this.#strategy.trouble === undefined || this.#troubled
  }

  async run(troupe: Troupe, settingsOf: (index: number) => CounterSettings): Promise<void> {
    const { actors } = troupe
    let open = 0
    const doors: (() => void)[] = []
    const trouble = driveTrouble(this.#strategy, {
      ttlMs: TTL_MS,
      bystander: () => this.#buyAnotherItem(),
      giveUp: () => actors.forEach((actor) => void actor.kill()),
    })
    const conduct: Conduct = {
      arrived: (arrival) => {
        if (arrival.point !== 'open') {
          trouble.arrived?.(arrival)
          return
        }
        doors.push(arrival.go)
        open += 1
        // The doors open for all at once.
        if (open < actors.length) return
        this.#startMs = performance.now()
        for (const go of doors) go()
      },
      noted: (actor, note) => {
        this.#note(note as CounterNote, trouble.driven.atMs !== undefined)
        trouble.noted?.(actor, note)
      },
    }
    const outcomes = await troupe.play('oversell', settingsOf, conduct)
    this.#bystanderMs = trouble.driven.bystanderMs
    this.#stuck = trouble.driven.stuck
    this.#troubled = trouble.driven.atMs !== undefined
    throwUnexpected(outcomes, actors)
  }

  row(
    items: number,
    buyers: number,
    { orders, left }: { orders: number; left: number },
  ): OversellRow {
    const { id, sound, trouble } = this.#strategy
    const oversold = Math.max(0, orders - items)
    const lostUpdates =
      this.#strategy.leavesStock === true ? 0 : Math.max(0, orders - (items - left))
    const unserved = buyers - this.#served
    const ms = Math.max(1, this.#lastSaleMs - this.#startMs)
    const blocked = (this.#bystanderMs ?? 0) > BLOCKED_MS
    return {
      strategy: id,
      sound,
      shop: this.#shop.kind,
      trouble,
      sold: orders,
      oversold,
      lostUpdates,
      unserved,
      stuck: this.#stuck,
      ...(this.#bystanderMs === undefined ? {} : { bystanderMs: this.#bystanderMs }),
      blocked,
      ms,
      ordersPerSecond: (this.#waitsMs.length * 1000) / ms,
      p99Ms: percentile(this.#waitsMs, 0.99),
      damaged: oversold > 0 || lostUpdates > 0 || unserved > 0 || blocked,
    }
  }

  #note(note: CounterNote, troubled: boolean): void {
    if (note.kind === 'sold') {
      this.#sold += 1
      this.#watcher.sold(this.#strategy.id, this.#sold)
      // What is measured is the shop at work, not the trouble.
      if (!troubled) {
        this.#waitsMs.push(note.waitMs)
        this.#lastSaleMs = performance.now()
      }
    }
    if (note.kind === 'sold' || note.kind === 'soldOut') this.#served += 1
  }

  async #buyAnotherItem(): Promise<void> {
    await this.#shop.transaction(async (tx) => {
      await tx.query('select amount from stock where item = ? for update', [OTHER_ITEM])
    })
  }
}

/** Processes that the lab killed are a part of the story; any other failure is not. */
function throwUnexpected(
  outcomes: readonly PromiseSettledResult<unknown>[],
  actors: readonly Actor[],
): void {
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.status === 'rejected' && actors[index]?.alive === true) throw outcome.reason
  }
}
