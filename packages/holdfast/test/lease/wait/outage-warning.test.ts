/** The warning of a long outage, which a process prints once. */
import { onLockEvent } from 'holdfast'
import { expect, onTestFinished, test, vi } from 'vitest'
import { makeWorld, outcomeOf, type World } from '../../support/world.js'

const emit = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)

function waitOf(world: World, name: string): Promise<unknown> {
  return outcomeOf(world.client().mutex(name).acquire({ waitMs: 20_000 }))
}

test('a program that subscribes to the event is not warned of an outage', async () => {
  const outages = vi.fn()
  onTestFinished(onLockEvent('store-unavailable', outages))
  const world = makeWorld()
  world.wire.fate = () => 'fail'
  await world.clock.until(waitOf(world, 'a'))
  expect(outages).toHaveBeenCalledOnce()
  expect(emit).not.toHaveBeenCalled()
})

test('another program is warned once, after 5 s', async () => {
  const world = makeWorld()
  world.wire.fate = () => 'fail'
  const waits = ['a', 'b'].map((name) => waitOf(world, name))
  await world.clock.advance(4_500)
  expect(emit).not.toHaveBeenCalled()
  await world.clock.until(Promise.all(waits))
  expect(emit.mock.calls).toEqual([
    [
      expect.stringMatching(/^"[ab]" waits for the store\. The wire refused the attempt\.$/),
      { type: 'HoldfastWarning', code: 'STORE_UNAVAILABLE' },
    ],
  ])
})
