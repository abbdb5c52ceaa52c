/**
 * A wait for a lock inside of other runs. Their locks are kept while it lasts, so two nested runs
 * in opposite order wait for each other.
 *
 * The library finds deadlocks through notes on the leases under which a caller waits. The leases
 * here belong to the wrappers around this process. Nothing leads from here to a wrapper: it may be
 * another user's, or outside of this container. So this process notes its wait on their claims
 * itself. A renewal by a wrapper removes the note, so each round of the search writes it again. The
 * note goes by itself when this process is killed.
 */
import type { LockInfo, Renewal, WaitNote } from '../../store/index.js'
import { type Locks } from '../../index.js'
import { runWithValue } from '../../async/async-context.js'
import { Frame, type Enterable } from '../../lease/nesting/run-frames.js'
import { withTimeout } from '../../clock/with-timeout.js'
import { heldAbove, type HeldLock } from './held-above.js'
import { lookUpLock } from './waiting.js'

/** A wait begins without the search when the store is slower than this. */
const LOOK_MS = 1_000

type Env = Readonly<Record<string, string | undefined>>

/** Waits as `wait` does. In a deadlock one of the waits rejects with a DeadlockError. */
export async function waitUnderHeld<T>(locks: Locks, env: Env, wait: () => Promise<T>): Promise<T> {
  const held = locks.store.traits.inspect ? heldAbove(env) : []
  if (held.length === 0) return wait()
  const leases = await withTimeout(foundIn(locks, held), LOOK_MS, () => new Error('late')).catch(
    // The wait itself meets a store that does not answer.
    () => [],
  )
  const client = {}
  const frame = leases.reduce<Frame | undefined>(
    (outer, lease) => new Frame(client, lease, false, outer),
    undefined,
  )
  return frame === undefined ? wait() : runWithValue(frame, wait)
}

/** Returns the leases that are in this store: a run may use another one than those around it. */
async function foundIn(locks: Locks, held: readonly HeldLock[]): Promise<Enterable[]> {
  const found = await Promise.all(
    held.map(async ({ lock, claimId }) => leaseOf(locks, claimId, await lookUpLock(locks, lock))),
  )
  return found.filter((lease) => lease !== undefined)
}

function leaseOf(
  { store }: Locks,
  claimId: string,
  info: LockInfo | undefined,
): Enterable | undefined {
  const holder = info?.holders.find((one) => one.claimId === claimId)
  if (info === undefined || holder === undefined) return undefined
  const { lock: name, kind, capacity } = info
  const { weight, owner, remainingMs: ttlMs } = holder
  return {
    name,
    claimId,
    kind,
    weight,
    capacity,
    exclusive: weight === capacity,
    store,
    held: true,
    open: true,
    isRenewedElsewhere: true,
    noteWaits(waits: readonly WaitNote[]): Renewal {
      const waitsFor = waits.length === 0 ? undefined : waits
      return { lock: name, id: claimId, ttlMs, owner: { ...owner, waitsFor }, keepsEnd: true }
    },
    endedEarly: async () => false,
    assertHeld: () => {},
    track: () => {},
  }
}
