/** All locks of a namespace, as the commands show them. */
import type { Locks } from '../../index.js'
import type { LockInfo } from '../../store/index.js'

/** How many locks one page has. */
const PAGE = 1_000

export interface FoundLocks {
  /** By name. Where there are more than the limit, the store chose which. */
  readonly locks: readonly LockInfo[]
  /** Whether there are more. */
  readonly truncated: boolean
}

/** Resolves to the locks whose names begin with a prefix: all of them, or up to a limit. */
export async function findLocks(
  locks: Pick<Locks, 'inspect'>,
  prefix: string,
  limit = Infinity,
): Promise<FoundLocks> {
  const found = new Map<string, LockInfo>()
  let cursor: string | undefined
  do {
    // One more than the limit, to know that there are more.
    const page = await locks.inspect({
      prefix,
      cursor,
      limit: Math.min(PAGE, limit + 1 - found.size),
    })
    for (const info of page.locks) found.set(info.lock, info)
    cursor = page.cursor
  } while (cursor !== undefined && found.size <= limit)
  const sorted = [...found.values()].sort((one, other) => (one.lock < other.lock ? -1 : 1))
  return { locks: sorted.slice(0, limit), truncated: found.size > limit }
}
