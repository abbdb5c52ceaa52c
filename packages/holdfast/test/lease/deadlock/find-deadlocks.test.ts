/** The graph of waits: what is stuck, which deadlocks there are, and which wait of each fails. */
import { findDeadlocks } from 'holdfast'
import { CAPACITY_ALL, type WaitNote } from 'holdfast/store'
import { SeededRandom } from 'holdfast/testing'
import { describe, expect, test } from 'vitest'
import { referenceDeadlocks } from './reference.js'

type Seen = Parameters<typeof findDeadlocks>[0][number]

function note(id: string, lock: string, more: Partial<WaitNote> = {}): WaitNote {
  return { id, lock, weight: CAPACITY_ALL, sinceMs: 1, ...more }
}

function holder(
  claimId: string,
  waitsFor: readonly WaitNote[],
  { weight = CAPACITY_ALL, stolen = false } = {},
): Seen['holders'][number] {
  const owner = { clientId: `client-${claimId}`, host: 'h', pid: 1, label: claimId, waitsFor }
  return { claimId, weight, owner, stolen }
}

function lock(name: string, holders: Seen['holders'], more: Partial<Seen> = {}): Seen {
  return { lock: name, capacity: CAPACITY_ALL, holders, waiters: [], ...more }
}

const CYCLE = [
  lock('a', [holder('A', [note('1', 'b', { sinceMs: 5 })])]),
  lock('b', [holder('B', [note('2', 'c', { sinceMs: 9 })])]),
  lock('c', [holder('C', [note('3', 'a', { sinceMs: 7 })])]),
]

describe('a deadlock', () => {
  test('ends with the latest wait, and begins with the lock that this one waits for', () => {
    const [deadlock, ...others] = findDeadlocks(CYCLE)
    expect(others).toEqual([])
    expect(deadlock?.victim.id).toBe('2')
    expect(deadlock?.steps.map((step) => `${step.claimId} ${step.lock} ${step.waitsFor}`)).toEqual([
      'C c a',
      'A a b',
      'B b c',
    ])
  })

  test('of waits that began at the same time has the victim with the largest id', () => {
    const two = [
      lock('a', [holder('A', [note('x', 'b')])]),
      lock('b', [holder('B', [note('y', 'a')])]),
    ]
    expect(findDeadlocks(two)[0]?.victim.id).toBe('y')
    expect(findDeadlocks(two.toReversed())[0]?.victim.id).toBe('y')
    expect(findDeadlocks(two)[0]?.id).toBe(findDeadlocks(two.toReversed())[0]?.id)
  })

  test('leaves out the waits behind it, which are in no deadlock', () => {
    const behind = lock('d', [holder('D', [note('4', 'a', { sinceMs: 99 })])])
    const [deadlock] = findDeadlocks([...CYCLE, behind])
    expect(deadlock?.waits.map(({ id }) => id)).toEqual(['1', '2', '3'])
    expect(deadlock?.id).toBe(findDeadlocks(CYCLE)[0]?.id)
  })

  test('is named when each note of each lease has the name', () => {
    const { id } = findDeadlocks(CYCLE)[0] ?? { id: '' }
    const named = (except?: string): Seen[] =>
      CYCLE.map((seen) => ({
        ...seen,
        holders: seen.holders.map((one) => {
          const waitsFor = (one.owner.waitsFor ?? []).map((wait) =>
            wait.id === except ? wait : { ...wait, cycle: id },
          )
          return { ...one, owner: { ...one.owner, waitsFor } }
        }),
      }))
    expect(findDeadlocks(CYCLE)[0]?.isNamed).toBe(false)
    expect(findDeadlocks(named('2'))[0]?.isNamed).toBe(false)
    expect(findDeadlocks(named())[0]?.isNamed).toBe(true)
  })

  test('is two deadlocks where two cycles share no lock', () => {
    const other = [
      lock('x', [holder('X', [note('8', 'y')])]),
      lock('y', [holder('Y', [note('9', 'x')])]),
    ]
    expect(findDeadlocks([...CYCLE, ...other]).map(({ victim }) => victim.id)).toEqual(['2', '9'])
  })
})

describe('no deadlock', () => {
  test.each([
    ['a chain', CYCLE.slice(0, 2)],
    ['a stolen lease', [lock('a', [holder('A', [note('1', 'a')], { stolen: true })])]],
    ['a wait for a lock that is free', [lock('a', [holder('A', [note('1', 'b')])]), lock('b', [])]],
    ['nothing', []],
  ])('in %s', (_name, locks) => {
    expect(findDeadlocks(locks)).toEqual([])
  })
})

/** A semaphore of three permits, whose first holder and the holder of `a` wait for each other. */
function pool(weights: readonly number[], waiters: Seen['waiters'] = []): Seen[] {
  return [
    lock(
      'pool',
      [
        holder('A', [note('1', 'a')], { weight: weights[0] ?? 1 }),
        ...weights.slice(1).map((weight, index) => holder(`free-${index}`, [], { weight })),
      ],
      { capacity: 3, waiters },
    ),
    lock('a', [holder('B', [note('2', 'pool', { weight: 1, claimId: 'W', sinceMs: 9 })])]),
  ]
}

describe('permits', () => {
  test('a holder that waits for nothing leaves its room to the wait', () => {
    expect(findDeadlocks(pool([2, 1]))).toEqual([])
    expect(findDeadlocks(pool([3]))).toHaveLength(1)
  })

  test('a waiter ahead for which the stuck holders leave no room blocks those behind it', () => {
    const heavy = { claimId: 'heavy', weight: 2 }
    const own = { claimId: 'W', weight: 1 }
    expect(findDeadlocks(pool([2], [heavy, own]))).toHaveLength(1)
    expect(findDeadlocks(pool([2], [own, heavy]))).toEqual([])
    expect(findDeadlocks(pool([1], [heavy, own]))).toEqual([])
  })

  test('a holder may be stuck in the queue of its own lock', () => {
    const wait = note('1', 'pool', { weight: 1, claimId: 'W' })
    const waiters = [
      { claimId: 'heavy', weight: 2 },
      { claimId: 'W', weight: 1 },
    ]
    const own = lock('pool', [holder('A', [wait], { weight: 1 })], { capacity: 2, waiters })
    expect(findDeadlocks([own])[0]?.steps).toMatchObject([{ lock: 'pool', waitsFor: 'pool' }])
    expect(findDeadlocks([{ ...own, waiters: waiters.slice(1) }])).toEqual([])
  })
})

/** Draws locks, holders with notes, and waiters, with every kind of claim. */
function drawLocks(random: SeededRandom): Seen[] {
  const draw = (count: number): number => Math.floor(random.next() * count)
  const names = ['a', 'b', 'c', 'd', 'e', 'f'].slice(0, 2 + draw(5))
  let made = 0
  return names.map((name) => {
    const capacity = 1 + draw(4)
    const drawNote = (): WaitNote => {
      const claimId = draw(2) === 0 ? undefined : `w${draw(4)}`
      const wanted = names[draw(names.length)] ?? name
      return note(`n${draw(8)}`, wanted, { weight: 1 + draw(3), claimId, sinceMs: draw(3) })
    }
    const holders = Array.from({ length: draw(4) }, () =>
      holder(`h${(made += 1)}`, Array.from({ length: draw(3) }, drawNote), {
        weight: 1 + draw(2),
        stolen: draw(10) === 0,
      }),
    )
    const waiters = Array.from({ length: draw(4) }, (_, index) => ({
      claimId: `w${index}`,
      weight: 1 + draw(capacity),
    }))
    return lock(name, holders, { capacity, waiters })
  })
}

describe('the index', () => {
  test('finds what a search without it finds, in 1 500 drawn graphs', () => {
    let found = 0
    for (let seed = 1; seed <= 1500; seed += 1) {
      const locks = drawLocks(new SeededRandom(seed))
      const deadlocks = findDeadlocks(locks)
      const waits = deadlocks.map((one) => one.waits.map(({ id }) => id).sort()).sort()
      expect(waits, `seed ${seed}`).toEqual(referenceDeadlocks(locks))
      for (const { steps, victim } of deadlocks) {
        const path = steps.map(({ waitsFor }) => waitsFor)
        expect(steps.map(({ lock }) => lock)).toEqual([victim.lock, ...path.slice(0, -1)])
      }
      found += deadlocks.length
    }
    expect(found).toBeGreaterThan(150)
  })

  test('finds the cycle of 5 000 locks, and the end of a chain as long', () => {
    const ring = Array.from({ length: 5000 }, (_, index) =>
      lock(`l${index}`, [holder(`h${index}`, [note(`n${index}`, `l${(index + 1) % 5000}`)])]),
    )
    expect(findDeadlocks(ring)[0]?.steps).toHaveLength(5000)
    expect(findDeadlocks(ring.slice(1))).toEqual([])
  })
})
