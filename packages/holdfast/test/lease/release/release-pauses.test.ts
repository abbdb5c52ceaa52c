/** A store without a queue: whether its lock goes around. */
import { SeededRandom, VirtualClock } from 'holdfast/testing'
import { createLocks, type Locks } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import type { Store } from 'holdfast/store'
import { expect, test } from 'vitest'

const LATENCY_MS = 1

/** A store whose waiters attempt now and then. */
function withoutQueue(clock: VirtualClock): Store {
  const store = memoryStore({ clock })
  const travel = (): Promise<void> =>
    new Promise((resolve) => void clock.timer(LATENCY_MS, resolve))
  return {
    ...store,
    name: 'polled',
    traits: { ...store.traits, fair: false, wakeUp: 'poll', tokenBlocks: false },
    async attempt(claim) {
      await travel()
      const result = await store.attempt(claim, { enqueue: false, tokens: 1 })
      await travel()
      return result
    },
    renew: (renewals) => store.renew(renewals),
    async withdraw(claim) {
      await travel()
      const outcome = await store.withdraw(claim)
      await travel()
      return outcome
    },
    watch: () => ({ ready: undefined, close: () => undefined }),
    close: () => undefined,
  }
}

/** Clients that take the lock again and again. Returns the grants of each, and the longest wait. */
async function contend(clients: number, forMs: number, holdMs: number) {
  const clock = new VirtualClock()
  const random = new SeededRandom(7)
  const store = withoutQueue(clock)
  const grants: number[] = []
  let longestMs = 0
  const work = async (locks: Locks, index: number): Promise<void> => {
    grants[index] = 0
    while (clock.monotonicMs() < forMs) {
      const askedMs = clock.monotonicMs()
      await locks.mutex('lock').run(async () => {
        longestMs = Math.max(longestMs, clock.monotonicMs() - askedMs)
        grants[index] = (grants[index] ?? 0) + 1
        if (holdMs > 0) await new Promise<void>((resolve) => void clock.timer(holdMs, resolve))
      })
    }
  }
  const all = Array.from({ length: clients }, (_, index) =>
    work(createLocks(store, { clock, random }), index),
  )
  await clock.until(Promise.all(all))
  return { grants, longestMs }
}

test.each([
  { holdMs: 0, forMs: 12_000, longestMs: 2000 },
  { holdMs: 20, forMs: 20_000, longestMs: 2000 },
  { holdMs: 100, forMs: 50_000, longestMs: 5000 },
])('lock that is held for $holdMs ms goes around among four processes', async (row) => {
  const { grants, longestMs } = await contend(4, row.forMs, row.holdMs)
  expect(Math.max(...grants)).toBeLessThan(3 * Math.min(...grants))
  expect(longestMs).toBeLessThan(row.longestMs)
})

test('process alone loses less than a hundredth to pauses', async () => {
  const { grants } = await contend(1, 10_000, 0)
  // An attempt and a release, each there and back.
  expect(grants[0]).toBeGreaterThan((0.99 * 10_000) / (4 * LATENCY_MS))
})

test('short wait of a process alone never times out at its own pause', async () => {
  const clock = new VirtualClock()
  const locks = createLocks(withoutQueue(clock), { clock, random: new SeededRandom(7) })
  const work = async (): Promise<void> => {
    while (clock.monotonicMs() < 3000) {
      const lease = await locks.mutex('lock').acquire({ waitMs: 5 })
      await lease.release()
    }
  }
  await expect(clock.until(work())).resolves.toBeUndefined()
})

/** A client that holds a lock for which another one has waited a moment ago: it will pause. */
async function contended() {
  const clock = new VirtualClock()
  const store = withoutQueue(clock)
  const options = { clock, random: new SeededRandom(7) }
  const [locks, other] = [createLocks(store, options), createLocks(store, options)]
  const busy = await clock.until(other.mutex('lock').acquire())
  const waiting = locks.mutex('lock').acquire()
  await clock.advance(20)
  await clock.until(busy.release())
  const lease = await clock.until(waiting)
  await clock.advance(200)
  return { clock, lease, lock: locks.mutex('lock') }
}

test('caller whose wait is nearly over attempts without a pause', async () => {
  const { clock, lease, lock } = await contended()
  const joined = lock.acquire({ waitMs: 300 })
  await clock.advance(294)
  void lease.release()
  // Less is left than the release and the shortest pause take.
  const next = await clock.until(joined, 10)
  expect(next.held).toBe(true)
})

test('short wait that joins a paused claim ends in time, and behind earlier callers', async () => {
  const { clock, lease, lock } = await contended()
  const first = lock.acquire()
  void lease.release()
  await clock.advance(1)
  const startMs = clock.monotonicMs()
  const short = lock.acquire({ waitMs: 3 }).catch((error: unknown) => error)
  const last = lock.acquire({ waitMs: 1000 })
  expect(await clock.until(short, 10)).toMatchObject({ code: 'LOCK_TIMEOUT', waitMs: 3 })
  expect(clock.monotonicMs() - startMs).toBeLessThanOrEqual(4)
  const held = await clock.until(first, 200)
  await clock.until(held.release())
  const end = await clock.until(last, 500)
  expect(end.token).toBeGreaterThan(held.token)
})
