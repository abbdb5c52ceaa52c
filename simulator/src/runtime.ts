/**
 * What is simulated: the runtime and the store as the package exports them. A mutation is another copy of the same
 * package with one line changed, so the world takes them from here and never imports them itself.
 */
import { createLocks, onLockEvent } from 'holdfast'
import { memoryStore } from 'holdfast/memory'

export interface Runtime {
  readonly createLocks: typeof createLocks
  readonly memoryStore: typeof memoryStore
  readonly onLockEvent: typeof onLockEvent
}

export const realRuntime: Runtime = { createLocks, memoryStore, onLockEvent }
