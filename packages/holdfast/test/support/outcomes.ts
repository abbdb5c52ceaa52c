/** Six calls, one for each outcome. */
import type { AcquireOutcome, Lease, Locks } from 'holdfast'
import { makeWorld, outcomeOf, type World } from './world.js'

export const OUTCOMES: readonly AcquireOutcome[] = [
  'granted',
  'handed_off',
  'busy',
  'timeout',
  'aborted',
  'error',
]

/** Two locks that another client holds. */
export interface SixCalls {
  /** The client that makes the calls. */
  readonly locks: Locks
  /** Makes the six calls, those that get a lease last. */
  make(): Promise<void>
}

/** Prepares the calls. Measure from the answer on: the locks are taken before that. */
export async function prepareSixCalls(world: World = makeWorld()): Promise<SixCalls> {
  const holder = world.direct()
  const locks = world.direct()
  const handedOn = await holder.mutex('a').acquire()
  await holder.mutex('b').acquire()
  return { locks, make: () => sixCalls(world, locks, handedOn) }
}

async function sixCalls({ clock }: World, locks: Locks, holding: Lease): Promise<void> {
  const [a, b] = [locks.mutex('a'), locks.mutex('b')]
  await b.tryAcquire()
  await clock.until(outcomeOf(b.acquire({ waitMs: 20 })))
  await outcomeOf(b.acquire({ signal: AbortSignal.abort() }))
  await outcomeOf(locks.semaphore('b', { permits: 2 }).tryAcquire())
  const runs = [a.run(() => undefined), a.run(() => undefined)]
  // The next heartbeat reserves a token for each of them.
  await clock.advance(1_100)
  await holding.release()
  await clock.until(Promise.all(runs))
}
