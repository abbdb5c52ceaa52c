/**
 * What is broken on purpose, one promise at a time. Where one layer hides the failure of another, both are broken
 * together, and `masked` says which one hid it.
 */
import { ORDER_MUTATIONS } from './order.js'
import { REDIS_MUTATIONS } from './redis.js'
import { REDLOCK_MUTATIONS } from './redlock.js'
import { STORE_MUTATIONS } from './store.js'
import { TIME_MUTATIONS } from './time.js'
import { WAITING_MUTATIONS } from './waiting.js'
import type { StoreName } from '../server/models.js'

/** One replacement in the compiled package. */
export interface Edit {
  readonly file: string
  readonly find: string
  readonly replace: string
  /** How often it stands there, where that is more than once: scripts share their parts. */
  readonly times?: number
}

export interface Mutation {
  readonly name: string
  /** Which promise of the design it breaks, as a sentence. */
  readonly breaks: string
  readonly edits: readonly Edit[]
  /** Why more than one line is changed. */
  readonly masked?: string
  /** The store model under which it shows; `memory` where none is named. */
  readonly store?: StoreName
  /** The directed scenario that shows it, where random seeds do not. */
  readonly scenario?: string
}

export const MUTATIONS: readonly Mutation[] = [
  ...TIME_MUTATIONS,
  ...WAITING_MUTATIONS,
  ...ORDER_MUTATIONS,
  ...STORE_MUTATIONS,
  ...REDIS_MUTATIONS,
  ...REDLOCK_MUTATIONS,
]
