/** Inspections in steps, between which the event loop serves others. */
import type { LockInfo } from '../../../store/contract.js'
import { describeLocks, type Described, type LockFiles } from '../database/lock-files.js'
import type { DeadHolderCleanup } from './dead-holder-cleanup.js'

/** How many locks are read before their holders are probed. */
const LOCKS_A_ROUND = 50

interface Look {
  readonly files: LockFiles
  /** The id of the peer that asks. */
  readonly ownId: string
  /** See `Store.inspect`. */
  readonly waitersUpTo: readonly string[] | undefined
}

/** Describes locks without the claims of processes that died: no waiter may have noticed that. */
export async function inspectInSteps(
  look: Look,
  deadHolders: DeadHolderCleanup,
  locks: readonly string[],
): Promise<LockInfo[]> {
  const found: LockInfo[] = []
  for (let start = 0; start < locks.length; start += LOCKS_A_ROUND) {
    if (start > 0) await nextTurn()
    const some = locks.slice(start, start + LOCKS_A_ROUND)
    let described = await describeInSteps(look, some)
    if (await deadHolders.endDead(described.peers)) described = await describeInSteps(look, some)
    found.push(...described.locks)
  }
  return found
}

/** Reads one file in each step. The first look at a file opens it, which takes milliseconds. */
async function describeInSteps(
  { files, ownId, waitersUpTo }: Look,
  locks: readonly string[],
): Promise<Described> {
  const parts: Described[] = []
  for (const ofFile of files.byFile(locks)) {
    if (parts.length > 0) await nextTurn()
    parts.push(await describeLocks(ofFile, ownId, waitersUpTo))
  }
  return {
    locks: parts.flatMap((part) => part.locks),
    peers: parts.flatMap(({ peers }) => peers),
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
