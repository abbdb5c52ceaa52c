/**
 * What is broken on purpose, one promise at a time. Where one layer hides the failure of another,
 * both are broken together, and `masked` says which one hid it.
 */
import type { Mutation } from './mutation.js'
import { ADOPTION_MUTATIONS } from './adoption.js'
import { HELPER_MUTATIONS } from './helper.js'
import { IN_DOUBT_MUTATIONS } from './in-doubt.js'
import { ORDER_MUTATIONS } from './order.js'
import { REDIS_MUTATIONS } from './redis.js'
import { REDLOCK_MUTATIONS } from './redlock.js'
import { RECIPE_MUTATIONS } from './recipe.js'
import { STORE_MUTATIONS } from './store.js'
import { TIME_MUTATIONS } from './time.js'
import { WAITING_MUTATIONS } from './waiting.js'

export const MUTATIONS: readonly Mutation[] = [
  ...TIME_MUTATIONS,
  ...WAITING_MUTATIONS,
  ...ORDER_MUTATIONS,
  ...STORE_MUTATIONS,
  ...REDIS_MUTATIONS,
  ...ADOPTION_MUTATIONS,
  ...REDLOCK_MUTATIONS,
  ...IN_DOUBT_MUTATIONS,
  ...RECIPE_MUTATIONS,
  ...HELPER_MUTATIONS,
]
