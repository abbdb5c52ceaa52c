/** A look for the holders of a lock does not read its queue, which may be long. */
import { afterEach, expect, test, vi } from 'vitest'
import { lookUpLock } from '../../../dist/cli/run/waiting.js'
import { makeWorld, outcomeOf, type World } from '../../support/world.js'

afterEach(() => {
  vi.restoreAllMocks()
})

/** Each way to ask for holders, on a lock that another client holds. */
const LOOKS: readonly (readonly [string, (world: World) => Promise<unknown>])[] = [
  [
    'a wait that times out',
    ({ client }) => outcomeOf(client().mutex('a').acquire({ waitMs: 1_000 })),
  ],
  ['leader() of an election', ({ direct }) => direct().election('a').leader()],
  ['observe() of an election', ({ direct }) => direct().election('a').observe().next()],
  ['oncePerTick', ({ direct }) => direct().oncePerTick('a', () => undefined, { atLeastMs: 1_000 })],
  ['the command line', ({ direct }) => lookUpLock(direct(), 'a')],
  [
    'the search for deadlocks',
    async ({ client, clock }) => {
      const locks = client()
      const nested = locks.mutex('b').run(() => locks.mutex('a').acquire({ waitMs: 3_000 }))
      const ended = outcomeOf(nested)
      await clock.advance(2_000)
      return ended
    },
  ],
]

test.each(LOOKS)('%s asks for no waiters', async (_, look) => {
  const world = makeWorld()
  await world.direct().mutex('a').acquire()
  const inspect = vi.spyOn(world.store, 'inspect')
  await world.clock.until(look(world))
  const asked = inspect.mock.calls.map(([, waitersUpTo]) => waitersUpTo)
  expect(asked.length).toBeGreaterThan(0)
  expect(asked).toEqual(asked.map(() => []))
})
