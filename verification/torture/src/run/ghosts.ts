/**
 * Looks, past all proxies, for what is still held or waited for by clients that gave everything
 * back.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { inspectPage } from 'holdfast/internal'
import type { LockInfo, Store } from 'holdfast/store'
import { loadLibrary } from '../client/library.js'
import { storeOf } from '@holdfast/stores'
import type { Connection } from '@holdfast/stores/connection'

export interface Ghost {
  readonly key: string
  readonly claim: string
  readonly pid: number
  readonly waits: boolean
  /** How long the claim would still stand there. */
  readonly remainingMs: number | undefined
}

/**
 * A withdrawal that was not answered is repeated in the background; so long it may take after the
 * end.
 */
const PATIENCE_MS = 3000
const LOOK_EVERY_MS = 200
/** How much longer the service itself may take to answer again. */
const ANSWER_MS = 10_000
const MOST_LOCKS = 100

/** Whose claims end by themselves, with their TTL: of killed processes, and of exported leases. */
export interface Excused {
  readonly pids: ReadonlySet<number>
  readonly claims: ReadonlySet<string>
}

export async function findGhosts(
  name: string,
  connection: Connection,
  excused: Excused,
): Promise<Ghost[]> {
  const { store: load } = await loadLibrary(undefined)
  const { store, end } = await storeOf(name).torture.open(connection, 0, load)
  try {
    const endMs = performance.now() + PATIENCE_MS
    for (;;) {
      const ghosts = await ghostsIn(store, excused, endMs)
      if (ghosts?.length === 0 || (ghosts && performance.now() > endMs)) return ghosts
      await sleep(LOOK_EVERY_MS)
    }
  } finally {
    await store.close()
    await end()
  }
}

/**
 * A service that was just healed may not answer at once: then undefined, until the time limit is
 * over.
 */
async function ghostsIn(
  store: Store,
  excused: Excused,
  endMs: number,
): Promise<Ghost[] | undefined> {
  try {
    const { locks } = await inspectPage(store, { limit: MOST_LOCKS })
    return locks.flatMap((lock) => ghostsOf(lock, excused))
  } catch (error) {
    if (performance.now() > endMs + ANSWER_MS) throw error
    return undefined
  }
}

function ghostsOf({ lock: key, holders, waiters }: LockInfo, excused: Excused): Ghost[] {
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
  return all.filter(({ pid, claim }) => !excused.pids.has(pid) && !excused.claims.has(claim))
}
