/** Inspections in steps, between which the event loop serves others. */
import type { LockInfo } from '../../../store/contract.js'
import type { LockFiles } from '../database/lock-files.js'
import type { DeadHolderCleanup } from './dead-holder-cleanup.js'

/** How many locks one step reads: a few milliseconds. */
const LOCKS_A_STEP = 50

/**
 * Describes locks without the claims of processes that died: no waiter may have noticed that.
 * @param ownId the id of the peer that asks
 * @param waitersUpTo see `Store.inspect`
 */
export async function inspectInSteps(
  files: LockFiles,
  deadHolders: DeadHolderCleanup,
  ownId: string,
  locks: readonly string[],
  waitersUpTo: readonly string[] | undefined,
): Promise<LockInfo[]> {
  const found: LockInfo[] = []
  for (let start = 0; start < locks.length; start += LOCKS_A_STEP) {
    if (start > 0) await nextTurn()
    const some = locks.slice(start, start + LOCKS_A_STEP)
    let described = await files.describe(some, ownId, waitersUpTo)
    if (await deadHolders.endDead(described.peers))
      described = await files.describe(some, ownId, waitersUpTo)
    found.push(...described.locks)
  }
  return found
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
