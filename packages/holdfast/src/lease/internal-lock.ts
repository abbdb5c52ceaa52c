/** What the rooms of the library see of a lock beyond what users see. */
import type { Store } from '../store/contract.js'

/** The name of a member that no wrapper of a lock has by chance. */
export const LOCK_STORE = Symbol('the store of a lock')

/** A single lock that `createLocks` made. */
export interface InternalLock {
  readonly [LOCK_STORE]: Store
}
