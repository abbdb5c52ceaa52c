/** What is said while the lock is busy. */
import { isLockError, type Locks } from 'holdfast'
import type { HolderInfo, LockInfo } from 'holdfast/store'
import { UsageError } from '../cli-error.js'
import { heldBy } from '../output/holders.js'
import { note } from '../report.js'
import type { StoreLocation } from '../stores/locate.js'
import { after } from '../timers.js'
import { heldAbove } from './held-above.js'

/** Waits shorter than this need no words. */
const QUIET_MS = 300

export async function lookUpLock(locks: Locks, name: string): Promise<LockInfo | undefined> {
  const page = await locks.store.inspect({ lock: name })
  return page.locks[0]
}

/** Tells a person at a terminal who holds the lock. Returns what ends it. */
export function tellWhoHolds(locks: Locks, name: string, store: StoreLocation): () => void {
  if (!process.stderr.isTTY) return () => {}
  let over = false
  const cancel = after(QUIET_MS, () => {
    lookUpLock(locks, name).then(
      (info) => {
        if (!over) note(`waiting for "${name}" (${store.shown}), ${heldBy(info)}.`)
      },
      // A remark only: whatever is wrong with the store, the wait itself will meet it and say so.
      () => undefined,
    )
  })
  return () => {
    over = true
    cancel()
  }
}

/** A run inside a run of the same lock would wait for its own end. That is said at once. */
export async function refuseToWaitForOneself(
  locks: Locks,
  name: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const ours = new Set(
    heldAbove(env).flatMap(({ lock, claimId }) => (lock === name ? [claimId] : [])),
  )
  if (ours.size === 0) return
  const owner = (await holdersOf(locks, name)).find(({ claimId }) => ours.has(claimId))
  if (owner === undefined) return
  throw new UsageError(
    `This already runs under "${name}" (claim ${owner.claimId}), and would wait for itself. ` +
      'Run the command directly, or use another lock name.',
  )
}

/**
 * A store that does not list its holders cannot tell: it may be another one than that of the run
 * around us.
 */
async function holdersOf(locks: Locks, name: string): Promise<readonly HolderInfo[]> {
  try {
    return (await lookUpLock(locks, name))?.holders ?? []
  } catch (error) {
    if (isLockError(error) && error.code === 'UNSUPPORTED') return []
    throw error
  }
}
