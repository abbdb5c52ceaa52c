/**
 * What is simulated: the runtime and the store as the package exports them. A mutation is another
 * copy of the same package with one line changed, so the world takes them from here and never
 * imports them itself.
 */
import { createLocks, onLockEvent } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { redisStore, type RedisStoreOptions } from 'holdfast/redis'
import { redlockStore } from 'holdfast/redlock'
import type { Store } from 'holdfast/store'
import {
  ClaimsInDoubt,
  Client,
  CoordinationStore,
  grantRule,
  LateRenewals,
  locksOf,
  mayGo,
  positionOf,
  QueueView,
  RenewalHelper,
  SharedBoard,
} from 'holdfast/internal'

/** The queue recipe of etcd and ZooKeeper, and what their services share with it. */
export interface Recipe {
  readonly CoordinationStore: typeof CoordinationStore
  readonly QueueView: typeof QueueView
  readonly mayGo: typeof mayGo
  readonly positionOf: typeof positionOf
  readonly ClaimsInDoubt: typeof ClaimsInDoubt
}

/** A client, and both sides of the helper that renews beside its event loop. */
export interface Helper {
  readonly Client: typeof Client
  readonly locksOf: typeof locksOf
  readonly LateRenewals: typeof LateRenewals
  readonly RenewalHelper: typeof RenewalHelper
  readonly SharedBoard: typeof SharedBoard
}

export interface Runtime {
  readonly createLocks: typeof createLocks
  readonly memoryStore: typeof memoryStore
  readonly onLockEvent: typeof onLockEvent
  readonly redisStore: (options: RedisStoreOptions) => Store
  readonly redlockStore: typeof redlockStore
  readonly recipe: Recipe
  readonly helper: Helper
  /** What the server of a store decides by. */
  readonly rule: typeof grantRule
}

export const realRuntime: Runtime = {
  createLocks,
  memoryStore,
  onLockEvent,
  redisStore,
  redlockStore,
  recipe: { CoordinationStore, QueueView, mayGo, positionOf, ClaimsInDoubt },
  helper: { Client, locksOf, LateRenewals, RenewalHelper, SharedBoard },
  rule: grantRule,
}
