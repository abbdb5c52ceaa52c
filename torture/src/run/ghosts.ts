/** Looks, past all proxies, for what is still held or waited for by clients that gave everything back. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { LockInfo } from 'holdfast/store'
import { loadLibrary } from '../client/library.js'
import { openStore } from '../client/open-store.js'
import type { Connection } from '../protocol.js'
import type { StoreName } from '../stores.js'

export interface Ghost {
  readonly key: string
  readonly claim: string
  readonly pid: number
  readonly waits: boolean
  /** How long the claim would still stand there. */
  readonly remainingMs: number | undefined
}

/** A withdrawal that was not answered is repeated in the background; so long it may take after the end. */
const PATIENCE_MS = 3000
const LOOK_EVERY_MS = 200
const MOST_LOCKS = 100

/** @param killed what these processes left behind ends by itself, with its TTL */
export async function findGhosts(
  name: StoreName,
  connection: Connection,
  killed: ReadonlySet<number>,
): Promise<Ghost[]> {
  const { store, end } = await openStore(name, connection, 0, await loadLibrary(undefined))
  try {
    if (!store.traits.inspect) return []
    const endMs = performance.now() + PATIENCE_MS
    for (;;) {
      const { locks } = await store.inspect({ prefix: '', limit: MOST_LOCKS })
      const ghosts = locks.flatMap((lock) => ghostsOf(lock, killed))
      if (ghosts.length === 0 || performance.now() > endMs) return ghosts
      await sleep(LOOK_EVERY_MS)
    }
  } finally {
    await store.close()
    await end()
  }
}

function ghostsOf({ lock: key, holders, waiters }: LockInfo, killed: ReadonlySet<number>): Ghost[] {
  const all = [
    ...holders.map(({ claimId: claim, owner, remainingMs }) => ({
      key,
      claim,
      pid: owner.pid,
      waits: false,
      remainingMs,
    })),
    ...waiters.map(({ claimId: claim, owner }) => ({
      key,
      claim,
      pid: owner.pid,
      waits: true,
      remainingMs: undefined,
    })),
  ]
  return all.filter(({ pid }) => !killed.has(pid))
}
