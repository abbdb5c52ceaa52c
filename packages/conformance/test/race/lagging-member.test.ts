/** Races on an ensemble: a member that has not heard of the last change is no broken store. */
import type { Store } from 'holdfast/store'
import { memoryStore } from 'holdfast/memory'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Context } from '../../dist/context.js'
import { checkRace, expectedOf, type Party, type Race } from '../../dist/race/race.js'

let store: Store
let context: Context
/** How many further attempts of the waiter find what was before. */
let lagging: number

beforeEach(async () => {
  store = memoryStore()
  lagging = 0
  context = new Context({ name: 'memory', traits: store.traits, open: () => store })
  await context.start()
})

afterEach(() => context.end())

/** The store as the waiter's member shows it. */
function behind(): Store {
  const attempt: Store['attempt'] = (claim, options) => {
    lagging -= 1
    return lagging >= 0
      ? { outcome: 'waiting', holderRemainingMs: 1 }
      : store.attempt(claim, options)
  }
  const withdraw: Store['withdraw'] = (claim) => store.withdraw(claim)
  return Object.assign(Object.create(store) as Store, { attempt, withdraw })
}

/** A release by the holder beside an attempt by the waiter. */
function releaseBesideAttempt(): Race {
  const options = { enqueue: true, tokens: 1 }
  const member = behind()
  return {
    title: 'a release beside an attempt',
    acts: [
      { name: 'attempt', run: async ({ claim }) => (await member.attempt(claim, options)).outcome },
      { name: 'release', run: ({ parties: [one] }) => store.withdraw((one as Party).claim) },
    ],
    async makeScene() {
      const lock = context.name(context.random.id())
      const [holder, waiter] = [context.claim({ lock }), context.claim({ lock })]
      await store.attempt(holder, options)
      await store.attempt(waiter, options)
      return {
        claim: waiter,
        token: 1n,
        parties: [
          { label: 'holder', claim: holder, store },
          { label: 'waiter', claim: waiter, store: member, waits: true },
        ],
      }
    },
  }
}

test('it is asked again while another member shows the claim as the holder', async () => {
  const race = releaseBesideAttempt()
  const expected = await expectedOf(context, race)
  lagging = 4
  await expect(checkRace(context, race, expected)).resolves.toBeUndefined()
})

test('a waiter that is never granted what others see it hold fails the race', async () => {
  const race = releaseBesideAttempt()
  const expected = await expectedOf(context, race)
  lagging = Infinity
  await expect(checkRace(context, race, expected)).rejects.toThrow('waiter waiting')
})
