/** Waits inside of other runs, on a store that does not answer at first. */
import { createLocks, type Lease, type Locks } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import type { Store } from 'holdfast/store'
import { expect, test } from 'vitest'
import { waitUnderHeld } from '../../../dist/cli/run/under-held.js'
import { after } from '../../../../../test/support/after.js'

function locksOf(store: Store): Locks {
  const locks = createLocks(store)
  after(() => locks.close({ graceMs: 0 }))
  return locks
}

/** Returns the store with inspections that fail at first, as those of a store that is away do. */
function failingAtFirst(store: Store, times: number): Store {
  let left = times
  return new Proxy(store, {
    get(target, key) {
      const value = Reflect.get(target, key, target) as unknown
      if (typeof value !== 'function') return value
      return (...args: unknown[]): unknown => {
        if (key !== 'inspect' || left <= 0) return Reflect.apply(value, target, args) as unknown
        left -= 1
        return Promise.reject(new Error('it is away'))
      }
    },
  })
}

test.each([0, 1, 3])(
  'a deadlock of runs inside of runs is found after %i failed looks',
  async (times) => {
    const store = memoryStore()
    const wrappers = locksOf(store)
    const outer = new Map<string, Lease>()
    for (const name of ['a', 'b']) outer.set(name, await wrappers.mutex(name).acquire())
    const inside = (around: string, name: string): Promise<string> => {
      const held = JSON.stringify([[around, outer.get(around)?.claimId]])
      const locks = locksOf(failingAtFirst(store, times))
      const wait = (): Promise<Lease> => locks.mutex(name).acquire({ waitMs: 15_000 })
      return waitUnderHeld(locks, { HOLDFAST_HELD: held }, wait).then(
        () => 'acquired',
        async (error: { code: string }) => {
          // The run around it ends too.
          await outer.get(around)?.release()
          return error.code
        },
      )
    }
    const outcomes = await Promise.all([inside('a', 'b'), inside('b', 'a')])
    expect(outcomes.toSorted()).toEqual(['DEADLOCK', 'acquired'])
  },
  20_000,
)

test('a wait inside of a run is noted on the lease of the run, with the client that waits', async () => {
  const store = memoryStore()
  const wrapper = locksOf(store)
  const outer = await wrapper.mutex('a').acquire()
  const wanted = await wrapper.mutex('b').acquire()
  const inner = locksOf(store)
  const held = JSON.stringify([['a', outer.claimId]])
  const wait = waitUnderHeld(inner, { HOLDFAST_HELD: held }, () => inner.mutex('b').acquire())
  const noted = async (): Promise<unknown[]> => {
    const holder = (await wrapper.mutex('a').inspect()).holders[0]
    return (holder?.owner.waitsFor ?? []).map(({ lock, clientId }) => [lock, clientId])
  }
  await expect.poll(noted).toEqual([['b', inner.clientId]])
  await wanted.release()
  await (await wait).release()
})
