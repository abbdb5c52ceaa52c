/** Failures that a careful program expects; any other is a fault of Holdfast or the harness. */
import type { LockErrorCode } from 'holdfast'

export const EXPECTED_CODES: readonly LockErrorCode[] = [
  'LOCK_TIMEOUT',
  'LOCK_LOST',
  'LOCKS_CLOSED',
  'STORE_UNAVAILABLE',
  'RELEASE_UNKNOWN',
]

/** The reason with which an actor aborts its own wait. */
export class AbortedByCaller extends Error {
  override readonly name = 'AbortedByCaller'
}
