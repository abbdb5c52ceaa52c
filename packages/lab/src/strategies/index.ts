/** All strategies, in the order in which people try them. */
import { HOLDFAST, localLock, oneLockFifo, releasedBeforeCommit } from './holdfast.js'
import { REDIS_LADDER } from './redis-ladder.js'
import { selectForUpdate, selectForUpdateUnindexed, uniqueRow } from './row-locks.js'
import type { Strategy } from './strategy.js'
import { stripedInventory } from './striped.js'
import {
  checkThenDecrement,
  noLock,
  optimisticVersion,
  readModifyWriteAlone,
} from './without-lock.js'

export const STRATEGIES: readonly Strategy[] = [
  noLock,
  readModifyWriteAlone,
  checkThenDecrement,
  localLock,
  releasedBeforeCommit,
  uniqueRow,
  ...REDIS_LADDER,
  selectForUpdateUnindexed,
  selectForUpdate,
  optimisticVersion,
  ...HOLDFAST,
  oneLockFifo,
  stripedInventory,
]
