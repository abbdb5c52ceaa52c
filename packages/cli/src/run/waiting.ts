/** What is said while the lock is busy. */
import type { Locks } from 'holdfast'
import type { LockInfo } from 'holdfast/store'
import { UsageError } from '../cli-error.js'
import { heldBy } from '../output/holders.js'
import { note } from '../report.js'
import type { StoreLocation } from '../stores/locate.js'
import { after } from '../timers.js'

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
  const owner = env['HOLDFAST_OWNER']
  if (owner === undefined || env['HOLDFAST_LOCK_NAME'] !== name) return
  const info = await lookUpLock(locks, name)
  if (!info?.holders.some((holder) => holder.claimId === owner)) return
  throw new UsageError(
    `This already runs under "${name}" (claim ${owner}), and would wait for itself. ` +
      'Run the command directly, or use another lock name.',
  )
}
