/** Reports a busy lock during the wait, and refuses a wait that could never end. */
import { isatty } from 'node:tty'
import { isLockError, type Locks } from '../../index.js'
import type { LockInfo } from '../../store/index.js'
import { UsageError } from '../cli-error.js'
import { heldBy } from '../output/holders.js'
import { note } from '../output/note.js'
import type { StoreLocation } from '../stores/locate.js'
import { after } from '../timers.js'
import { heldAbove } from './held-above.js'

/** When a wait is reported: soon at a terminal, and late in a log. */
const REPORT_AFTER_MS = { terminal: 300, log: 10_000 } as const

/** Returns the lock without its waiters, of which there may be many. */
export async function lookUpLock(locks: Locks, name: string): Promise<LockInfo | undefined> {
  const [info] = await locks.store.inspect([name], [])
  return info
}

/**
 * Reports the holder of the lock on stderr once, if the wait lasts. Returns a function that ends
 * this.
 */
export function reportWait(locks: Locks, name: string, store: StoreLocation): () => void {
  let over = false
  const report = (holder: string): void => {
    if (!over) note(`waiting for "${name}" (${store.shown}), ${holder}.`)
  }
  const delayMs = isatty(2) ? REPORT_AFTER_MS.terminal : REPORT_AFTER_MS.log
  const cancel = after(delayMs, () => {
    lookUpLock(locks, name).then(
      (info) => report(heldBy(info)),
      // A store without a list of holders still has the wait. The wait itself meets any other
      // failure.
      (error: unknown) => {
        if (isLockError(error) && error.code === 'UNSUPPORTED') report('which is busy')
      },
    )
  })
  return () => {
    over = true
    cancel()
  }
}

/** Refuses a run inside a run of the same lock, which would wait for its own end. */
export async function refuseToWaitForOneself(
  locks: Locks,
  name: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const ours = new Set(
    heldAbove(env).flatMap(({ lock, claimId }) => (lock === name ? [claimId] : [])),
  )
  if (ours.size === 0) return
  // The store may be another one than that of the run around this one.
  const holders = (await lookUpLock(locks, name))?.holders
  const owner = holders?.find(({ claimId }) => ours.has(claimId))
  if (owner === undefined) return
  throw new UsageError(
    `This already runs under "${name}" (claim ${owner.claimId}), and would wait for itself. ` +
      'Run the command directly, or use another lock name.',
  )
}
