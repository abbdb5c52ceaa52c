/** One rush of buyers on one shop, under one strategy. */
import type { Actor, Conduct } from '../../actor.js'
import type { ActorGroup } from '../../processes/actor-group.js'
import { percentile } from '../../report/figures.js'
import { OTHER_ITEM, type Shop, type ShopKind } from '../../shop/shop.js'
import type { Strategy, Trouble } from '../../strategies/strategy.js'
import type { CounterNote, CounterSettings } from './counter.js'
import { driveTrouble } from './trouble.js'

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

export interface Watcher {
  began(strategy: string, number: number, of: number): void
  sold(strategy: string, count: number): void
}

/** A bystander that waits longer than this had to wait. */
const BLOCKED_MS = 500

export class Rush {
  readonly #strategy: Strategy
  readonly #shop: Shop
  readonly #ttlMs: number
  readonly #watcher: Watcher
  readonly #waitsMs: number[] = []
  #served = 0
  #sold = 0
  #startMs = 0
  #lastSaleMs = 0
  #bystanderMs: number | undefined
  #stuck = false
  #troubled = false

  constructor(strategy: Strategy, shop: Shop, ttlMs: number, watcher: Watcher) {
    this.#strategy = strategy
    this.#shop = shop
    this.#ttlMs = ttlMs
    this.#watcher = watcher
  }

  /** Whether what the strategy is to go through came to pass. */
  get hadItsTrouble(): boolean {
    return this.#strategy.trouble === undefined || this.#troubled
  }

  async run(group: ActorGroup, settingsOf: (index: number) => CounterSettings): Promise<void> {
    const { actors } = group
    let open = 0
    const doors: (() => void)[] = []
    const trouble = driveTrouble(this.#strategy, {
      ttlMs: this.#ttlMs,
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
    const outcomes = await group.play('oversell', settingsOf, conduct)
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
