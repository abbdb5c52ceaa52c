/**
 * A machine that is started twice from one snapshot: both clients count their claims on from the
 * same number.
 */
import type { Locks, Random } from 'holdfast'
import { expect, test } from 'vitest'
import { makeWorld, type World } from '../../support/world.js'

/** The first id was drawn before the snapshot was made; what comes later differs. */
function twinOf(world: World, name: string): Locks {
  let drawn = 0
  const random: Random = { next: () => 0.5, id: () => (drawn++ === 0 ? 'twin' : `${name}${drawn}`) }
  return world.direct({ random })
}

test('twins whose clocks have parted share no claim ids, and leases from before go on', async () => {
  const world = makeWorld()
  const [one, other] = [twinOf(world, 'one'), twinOf(world, 'other')]
  const before = await one.mutex('from before').acquire()
  await (await other.mutex('another').acquire()).release()
  // The wall clock is set right, and the monotonic clock has stood still.
  world.clock.stepWall(3_600_000)
  const lease = await one.mutex('a').acquire()
  expect(await other.mutex('a').tryAcquire()).toBeUndefined()
  expect(await lease.release()).toBe('released')
  await before.renew()
  expect(before.held).toBe(true)
  expect(await before.release()).toBe('released')
  const ids = new Set<string>()
  for (const locks of [one, other]) {
    const held = await locks.mutex('b').acquire()
    const {
      locks: [info],
    } = await locks.inspect({ prefix: 'b' })
    ids.add(info?.holders[0]?.claimId ?? '')
    await held.release()
  }
  expect(ids.size).toBe(2)
})
