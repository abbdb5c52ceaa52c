/** Looking at locks: one, or all whose names begin alike. */
import type { InspectPage, LockInfo } from '../../../store/contract.js'
import { readLock } from '../wire/answers.js'
import { lockOf, patternOf } from '../keys.js'

/** How many locks are described in one call. */
const DESCRIBED_TOGETHER = 64

export interface Directory {
  readonly keyPrefix: string
  describe(locks: readonly string[]): Promise<LockInfo[]>
  findKeys(pattern: string): Promise<string[]>
}

/** @param ask runs the describing script on the keys of these locks */
export async function describeLocks(
  locks: readonly string[],
  ask: (locks: readonly string[]) => Promise<unknown>,
): Promise<LockInfo[]> {
  const replies = (await ask(locks)) as unknown[]
  return locks.flatMap((lock, index) => readLock(lock, replies[index]) ?? [])
}

/**
 * A page of locks in the order of their names. The server cannot sort keys, so each page reads all
 * of them. Operators and their tools may use it, and the way to a lock must not.
 */
export async function listLocks(
  query: { readonly prefix: string; readonly cursor?: string | undefined; readonly limit: number },
  prefix: string,
  directory: Directory,
): Promise<InspectPage> {
  const names = await findNames(query.prefix, prefix, directory)
  const after = query.cursor
  const rest = after === undefined ? names : names.filter((name) => name > after)
  const locks: LockInfo[] = []
  for (let start = 0; start < rest.length; start += DESCRIBED_TOGETHER) {
    // Keys outlive the use of their lock, so that some of them have nothing to show.
    for (const info of await directory.describe(rest.slice(start, start + DESCRIBED_TOGETHER))) {
      if (locks.length === query.limit) return { locks, cursor: locks.at(-1)?.lock }
      locks.push(info)
    }
  }
  return { locks, cursor: undefined }
}

async function findNames(
  beginning: string,
  prefix: string,
  directory: Directory,
): Promise<string[]> {
  const fullPrefix = directory.keyPrefix + prefix
  const found = new Set<string>()
  for (const key of await directory.findKeys(patternOf(fullPrefix, beginning))) {
    const lock = lockOf(fullPrefix, key)
    if (lock !== undefined) found.add(lock)
  }
  return [...found].sort()
}
