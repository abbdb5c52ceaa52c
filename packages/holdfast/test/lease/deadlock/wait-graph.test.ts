/** The search of one client: exact, and no longer than what the wait leads to. */
import { createLocks, DeadlockError, type Locks } from 'holdfast'
import { SeededRandom } from 'holdfast/testing'
import { CAPACITY_ALL } from 'holdfast/store'
import { describe, expect, test } from 'vitest'
import { findDeadlocks } from '../../../dist/lease/deadlock/find-deadlocks.js'
import { WaitGraph } from '../../../dist/lease/deadlock/wait-graph.js'
import { WaitUnderLeases, type OuterLease } from '../../../dist/lease/deadlock/wait-under-leases.js'
import { deferred, makeWorld, outcomeOf } from '../../support/world.js'

const STORE = {}
const OWNER = { clientId: 'c', host: 'h', pid: 1 }

interface Terms {
  readonly weight: number
  readonly capacity: number
}
const WHOLE: Terms = { weight: CAPACITY_ALL, capacity: CAPACITY_ALL }

class Work {
  readonly graph = new WaitGraph()
  #made = 0

  lease(name: string, terms = WHOLE): OuterLease {
    this.#made += 1
    const claimId = `claim-${this.#made}`
    return { name, claimId, ...terms, open: true, store: STORE, noteWaits: () => undefined }
  }

  /** Adds a wait under leases. Returns how many steps the search took, and its answers. */
  wait(
    lock: string,
    leases: readonly OuterLease[],
    terms = WHOLE,
  ): { steps: number; mayClose: boolean; isStuck: () => boolean; remove: () => void } {
    this.#made += 1
    const id = `wait-${this.#made}`
    let frame: { alive: true; lease: OuterLease; outer: typeof frame } | undefined
    for (const lease of leases) frame = { alive: true, lease, outer: frame }
    if (!frame) throw new Error('A wait under no lease is not in the graph.')
    const pending = { lock, startedMs: 0, source: undefined, giveUp: () => undefined }
    const wait = new WaitUnderLeases(pending, { frame, ...terms }, 0, () => id)
    const held = new Set(leases)
    this.graph.add(wait, held)
    const before = this.graph.steps
    const mayClose = this.graph.mayClose(wait, held)
    const steps = this.graph.steps - before
    const isStuck = (): boolean =>
      findDeadlocks(this.graph.pathsFrom(wait, STORE, OWNER).locks).some(({ waits }) =>
        waits.some((one) => one.id === id),
      )
    return { steps, mayClose, isStuck, remove: () => this.graph.remove(wait, held) }
  }
}

/** How many steps a thousand waits take, and how many of them may close a cycle. */
function thousand(wait: (work: Work, index: number) => { steps: number; mayClose: boolean }): {
  most: number
  total: number
  closing: number
} {
  const work = new Work()
  const found = Array.from({ length: 1000 }, (_, index) => wait(work, index))
  return {
    most: Math.max(...found.map(({ steps }) => steps)),
    total: found.reduce((sum, { steps }) => sum + steps, 0),
    closing: found.filter(({ mayClose }) => mayClose).length,
  }
}

describe('a search takes no step for what the wait does not lead to', () => {
  test('a chain that grows at its end', () => {
    const { most, closing } = thousand((work, index) =>
      work.wait(`lock-${index + 1}`, [work.lease(`lock-${index}`)]),
    )
    expect({ most, closing }).toEqual({ most: 0, closing: 0 })
  })

  test('a chain that grows at its beginning', () => {
    const { most, closing } = thousand((work, index) =>
      work.wait(`lock-${1000 - index}`, [work.lease(`lock-${999 - index}`)]),
    )
    expect(closing).toBe(0)
    expect(most).toBeLessThanOrEqual(1)
  })

  test('a chain whose links come in any order: the shorter side decides', () => {
    const random = new SeededRandom(7)
    const order = Array.from({ length: 1000 }, (_, index) => ({ index, key: random.next() }))
    order.sort((one, other) => one.key - other.key)
    const { total, closing } = thousand((work, turn) => {
      const { index = 0 } = order[turn] ?? {}
      return work.wait(`lock-${index + 1}`, [work.lease(`lock-${index}`)])
    })
    expect(closing).toBe(0)
    // n log n, with a step for each side.
    expect(total).toBeLessThan(2 * 1000 * Math.log2(1000))
  })

  test('a thousand callers that hold one lock each and want a hot one', () => {
    const { most } = thousand((work, index) => work.wait('hot', [work.lease(`own-${index}`)]))
    expect(most).toBe(0)
  })

  test('a thousand holders of permits that want one more each', () => {
    const one = { weight: 1, capacity: 1001 }
    const { most, closing } = thousand((work) => work.wait('pool', [work.lease('pool', one)], one))
    expect({ most, closing }).toEqual({ most: 0, closing: 0 })
  })

  test('nothing is left of waits that are over', () => {
    const work = new Work()
    const lease = work.lease('a')
    const waits = [work.wait('b', [lease]), work.wait('c', [lease, work.lease('b')])]
    expect(work.wait('a', [work.lease('c')]).mayClose).toBe(true)
    for (const { remove } of waits) remove()
    expect(work.wait('a', [work.lease('c')])).toMatchObject({ mayClose: false, steps: 0 })
  })
})

test('the search finds each wait that is stuck, in drawn orders of waits', () => {
  let stuck = 0
  for (let seed = 1; seed <= 300; seed += 1) {
    const random = new SeededRandom(seed)
    const draw = (count: number): number => Math.floor(random.next() * count)
    const work = new Work()
    const capacities = Array.from({ length: 5 }, () => 1 + draw(3))
    const termsOf = (lock: number): Terms => {
      const capacity = capacities[lock] ?? 1
      return { weight: 1 + draw(capacity), capacity }
    }
    const leases = Array.from({ length: 8 }, () => {
      const lock = draw(5)
      return work.lease(`${lock}`, termsOf(lock))
    })
    const open: { remove: () => void }[] = []
    for (let turn = 0; turn < 12; turn += 1) {
      if (open.length > 0 && draw(4) === 0) open.splice(draw(open.length), 1)[0]?.remove()
      const lock = draw(5)
      const under = leases.filter(() => draw(6) === 0)
      const wait = work.wait(
        `${lock}`,
        under.length > 0 ? under : leases.slice(0, 1),
        termsOf(lock),
      )
      if (wait.isStuck()) {
        stuck += 1
        expect(wait.mayClose, `seed ${seed}`).toBe(true)
      }
      open.push(wait)
    }
  }
  expect(stuck).toBeGreaterThan(100)
})

test('a wait that closes two cycles at once: each of them is ended', async () => {
  const { clock, store } = makeWorld()
  let made = 0
  const random = {
    next: () => 0.5,
    // Of waits of the same millisecond the first one is the victim then, and not the last one.
    id: () => `id-${1000 - (made += 1)}`,
  }
  const outcomes = await clock.until(
    twoCycles(createLocks(store, { clock, random, deadlockCheckMs: false })),
  )
  const errors = outcomes.map((outcome) => 'error' in outcome && outcome.error)
  expect(errors.filter((error) => error instanceof DeadlockError)).toHaveLength(2)
  expect(outcomes).toContainEqual({ value: 'done' })
})

/** Two holders of a permit want what a third caller holds, which wants both permits. */
function twoCycles(locks: Locks): Promise<Awaited<ReturnType<typeof outcomeOf>>[]> {
  const pool = locks.semaphore('pool', { permits: 2 })
  const ready = deferred()
  const holders = [1, 2].map(() =>
    outcomeOf(
      pool.run(async () => {
        await ready.promise
        return locks.readWriteLock('a').read.run(() => 'done')
      }),
    ),
  )
  const third = outcomeOf(
    locks.readWriteLock('a').write.run(async () => {
      ready.resolve()
      // The holders begin to wait before it does.
      await new Promise((resolve) => setImmediate(resolve))
      return pool.withWeight(2).run(() => 'done', { waitMs: 5000 })
    }),
  )
  return Promise.all([...holders, third])
}
