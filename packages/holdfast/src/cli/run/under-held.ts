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
import type { LockInfo, LockKind, Owner, Renewal, WaitNote } from '../../store/index.js'
import { type Locks } from '../../index.js'
import { runWithValue } from '../../async/async-context.js'
import { Frame, type Enterable } from '../../lease/nesting/run-frames.js'
import { withTimeout } from '../../clock/with-timeout.js'
import { heldAbove, type HeldLock } from './held-above.js'
import { lookUpLock } from './waiting.js'

/** A wait begins when the store is slower than this. The search for deadlocks then looks again. */
const LOOK_MS = 1_000

type Env = Readonly<Record<string, string | undefined>>

/** Waits as `wait` does. In a deadlock one of the waits rejects with a DeadlockError. */
export async function waitUnderHeld<T>(locks: Locks, env: Env, wait: () => Promise<T>): Promise<T> {
  const held = heldAbove(env)
  if (held.length === 0) return wait()
  const leases = held.map((one) => new LeaseAbove(locks, one))
  const looks = Promise.allSettled(leases.map(async (lease) => lease.look()))
  // The wait itself meets a store that does not answer.
  await withTimeout(looks, LOOK_MS, () => new Error('late')).catch(() => undefined)
  const client = {}
  const frame = leases.reduce<Frame | undefined>(
    (outer, lease) => (lease.open ? new Frame(client, lease, false, outer) : outer),
    undefined,
  )
  return frame === undefined ? wait() : runWithValue(frame, wait)
}

/** What the store shows of a lease. */
type Shown = Pick<LockInfo, 'kind' | 'capacity'> & LockInfo['holders'][number]

/** The lease of a run around this one. It may be in another store, or have ended. */
class LeaseAbove implements Enterable {
  readonly name: string
  readonly claimId: string
  readonly held = true
  readonly isRenewedElsewhere = true
  /** Whether the store has it, or has not answered yet. */
  open = true
  readonly #locks: Locks
  #shown: Shown | undefined
  #isLooking = false

  constructor(locks: Locks, { lock, claimId }: HeldLock) {
    this.#locks = locks
    this.name = lock
    this.claimId = claimId
  }

  get store(): object {
    return this.#locks.store
  }

  get kind(): LockKind {
    return this.#shown?.kind ?? 'mutex'
  }

  get weight(): number {
    return this.#shown?.weight ?? 0
  }

  get capacity(): number {
    return this.#shown?.capacity ?? 0
  }

  get exclusive(): boolean {
    return this.weight === this.capacity
  }

  async look(): Promise<void> {
    const info = await lookUpLock(this.#locks, this.name)
    const holder = info?.holders.find(({ claimId }) => claimId === this.claimId)
    if (info && holder) this.#shown = { ...info, ...holder }
    else this.open = false
  }

  noteWaits(waits: readonly WaitNote[]): Renewal | undefined {
    if (!this.#shown) {
      this.#lookAgain()
      return undefined
    }
    const { remainingMs: ttlMs, owner } = this.#shown
    const { clientId } = this.#locks
    const waitsFor = waits.length === 0 ? undefined : waits.map((wait) => ({ ...wait, clientId }))
    const noted: Owner = { ...owner, waitsFor }
    return { lock: this.name, id: this.claimId, ttlMs, owner: noted, keepsEnd: true }
  }

  /** Each round of the search calls this, until the store has answered. */
  #lookAgain(): void {
    if (this.#isLooking) return
    this.#isLooking = true
    const end = (): void => void (this.#isLooking = false)
    void this.look().then(end, end)
  }

  endedEarly(): false {
    return false
  }

  assertHeld(): void {}

  beginCallback(): number {
    return 0
  }

  endCallback(): void {}
}
