/** Boots and clocks that are set, on a machine that the test makes up. */
import { inspectPage } from 'holdfast/internal'
import type { Store } from 'holdfast/store'
import { describe, expect, test } from 'vitest'
import {
  closing,
  makeClaim,
  makeDirectory,
  makeMachine,
  neighbourOf,
  openOn,
  take,
} from './support/world.js'

describe('a boot', () => {
  test('ends holders and waiters, and the tokens still grow', async () => {
    const directory = makeDirectory()
    const before = openOn({ directory, machine: makeMachine() })
    const { token } = await take(before, makeClaim('a'))
    await before.attempt(makeClaim('a'), { enqueue: true, tokens: 1 })
    await before.close()
    // The clock of the machine had lost its battery.
    const machine = makeMachine({ bootId: 'another boot', wallMs: () => 0 })
    const store = closing(openOn({ directory, machine }))
    expect(await store.inspect(['a'])).toEqual([])
    expect((await take(store, makeClaim('a'))).token).toBeGreaterThan(token)
    // A lock whose row is gone, as well.
    expect((await take(store, makeClaim(neighbourOf('a')))).token).toBeGreaterThan(token)
  })

  test('that is the same one keeps them', async () => {
    const directory = makeDirectory()
    const before = openOn({ directory, machine: makeMachine() })
    await take(before, makeClaim('a'))
    const store = closing(openOn({ directory, machine: makeMachine() }))
    const locks = await store.inspect(['a'])
    expect(locks[0]?.holders).toHaveLength(1)
    await before.close()
  })

  test('that looks like the last one does not make its leases last', async () => {
    const directory = makeDirectory()
    const before = openOn({
      directory,
      machine: makeMachine({ monotonicMs: () => 40 * 86_400_000 }),
    })
    const { token } = await take(before, makeClaim('a'))
    await take(before, makeClaim('b'))
    await before.attempt(makeClaim('b'), { enqueue: true, tokens: 1 })
    await before.close()
    // The computer's clock starts again from zero, and its boot has the same name.
    const store = closing(
      openOn({ directory, machine: makeMachine({ monotonicMs: () => 60_000 }) }),
    )
    expect((await take(store, makeClaim('a'))).token).toBeGreaterThan(token)
    expect(
      (await inspectPage(store, { prefix: '', limit: 10 })).locks.map(({ lock }) => lock),
    ).toEqual(['a'])
  })
})

describe('the wall clock', () => {
  test('set back, it does not take the tokens along', async () => {
    const directory = makeDirectory()
    let wallMs = Date.now()
    const machine = makeMachine({ wallMs: () => wallMs })
    const store = closing(openOn({ directory, machine }))
    let last = 0n
    for (let round = 0; round < 5; round += 1) {
      const claim = makeClaim('a')
      const { token } = await take(store, claim)
      expect(token).toBeGreaterThan(last)
      last = token
      await store.withdraw(claim)
      wallMs -= 86_400_000
    }
  })

  test('set forward and back, it neither ends nor prolongs a lease', async () => {
    let monotonicMs = 1000
    let wallMs = Date.now()
    const machine = makeMachine({ monotonicMs: () => monotonicMs, wallMs: () => wallMs })
    const store = closing(openOn({ directory: makeDirectory(), machine }))
    await take(store, makeClaim('a'))
    wallMs += 365 * 86_400_000
    monotonicMs += 29_999
    expect((await store.attempt(makeClaim('a'), { enqueue: false, tokens: 1 })).outcome).toBe(
      'busy',
    )
    wallMs -= 2 * 365 * 86_400_000
    monotonicMs += 2
    await take(store, makeClaim('a'))
  })

  test('set forward for a day and back, with the lock forgotten in between, it keeps the tokens growing', async () => {
    const directory = makeDirectory()
    const early = openOn({ directory, machine: makeMachine() })
    const claim = makeClaim('a')
    const { token } = await take(early, claim)
    await early.withdraw(claim)
    await early.close()
    // A store that opens the file forgets locks that were idle for a day.
    const ahead = openOn({
      directory,
      machine: makeMachine({ wallMs: () => Date.now() + 3 * 86_400_000 }),
    })
    expect(await ahead.inspect(['a'])).toEqual([])
    await ahead.close()
    const store = closing(openOn({ directory, machine: makeMachine({ wallMs: () => 1000 }) }))
    expect((await take(store, makeClaim('a'))).token).toBeGreaterThan(token)
  })
})

describe('two boots at once, as two containers of one kernel may have', () => {
  test('the second is refused until the first has closed, and changes nothing', async () => {
    const directory = makeDirectory()
    const [one, other] = boots(directory)
    const claim = makeClaim('a')
    await take(one, claim)
    await expect(take(other, makeClaim('a'))).rejects.toMatchObject(REFUSED)
    await expect((async () => other.inspect(['a']))()).rejects.toMatchObject(REFUSED)
    expect(await one.renew([claim])).toEqual([{ outcome: 'renewed' }])
    await one.close()
    await take(other, makeClaim('a'))
  })

  test('a store of the first that had no claim yet is refused once the second is at work', async () => {
    const directory = makeDirectory()
    const [one, other] = boots(directory)
    // It has the file open, and no row in it.
    await one.inspect(['a'])
    await take(other, makeClaim('a'))
    await expect(take(one, makeClaim('a'))).rejects.toMatchObject(REFUSED)
    await other.close()
    await take(one, makeClaim('a'))
  })

  test('of two that begin at once never both get the lock', async () => {
    for (let round = 0; round < 5; round += 1) {
      const stores = boots(makeDirectory())
      const taken = await Promise.allSettled(stores.map((store) => take(store, makeClaim('a'))))
      expect(taken.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      for (const store of stores) await store.close()
    }
  })
})

const REFUSED = { code: 'STORE_CONFIG', message: expect.stringContaining('another boot') as string }

function boots(directory: string): [Store, Store] {
  const openAt = (bootId: string): Store =>
    closing(openOn({ directory, machine: makeMachine({ bootId }) }))
  return [openAt('one'), openAt('other')]
}
