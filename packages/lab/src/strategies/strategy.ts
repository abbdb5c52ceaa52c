/**
 * A way to keep a shop from selling what it has not got: most of those that people try, and what
 * became of them.
 */
import type { ServiceName } from '../services/catalogue.js'
import type { Shop, ShopKind } from '../shop/shop.js'

export type Sale = 'sold' | 'soldOut'

/** One buyer at the counter. */
export interface Visit {
  readonly buyer: number
  /**
   * Ends the wait when it aborts: a lock that stays taken must not hold up the lab forever.
   */
  readonly waitLimit: AbortSignal
  /** What a shop does between looking and taking: it checks the payment. */
  think(): Promise<void>
  /** Says how many this buyer has seen on the shelf. */
  saw(amount: number): void
  /** Here, if the buyer has seen the last one, what goes wrong in the real world goes wrong. */
  lastItem(): Promise<void>
}

/** A strategy at work in one process. */
export interface Counter {
  buy(visit: Visit): Promise<Sale>
  close(): Promise<void>
}

/** What a strategy finds in the process in which it works. */
export interface Premises {
  readonly shop: Shop
  readonly addresses: Readonly<Partial<Record<ServiceName, string>>>
  /** A folder that all processes share. */
  readonly folder: string
  readonly ttlMs: number
  readonly segments: number
  /** This process among all, from 0. */
  readonly index: number
  /** Lets the conductor decide what happens at a point of the strategy's own. */
  readonly meet: (point: string) => Promise<void>
}

/**
 * The fault that is driven when a buyer has seen the last item:
 * - `crowd`: it continues only when a buyer in another process has seen it too
 * - `pause`: its process stops for longer than the TTL
 * - `kill`: its process is killed
 * - `bystander`: meanwhile another buyer wants another item
 */
export type Trouble = 'crowd' | 'pause' | 'kill' | 'bystander'

export interface Strategy {
  readonly id: string
  /**
   * Whether it keeps its promise: never sells what is not there, and never stands still for good.
   */
  readonly sound: boolean
  readonly trouble?: Trouble
  readonly needs?: readonly ServiceName[]
  /** The database that it is about, when not any will do. */
  readonly shop?: ShopKind | 'server'
  /** It counts orders instead, and never writes the stock. */
  readonly leavesStock?: boolean
  /** The stock lies in segments. */
  readonly segmented?: boolean
  open(premises: Premises): Promise<Counter>
}

export const nothingToClose = async (): Promise<void> => {}
