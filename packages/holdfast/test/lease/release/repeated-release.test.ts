/** A release that is sent again, since the answer to the first request did not come. */
import { onLockEvent } from 'holdfast'
import { expect, test } from 'vitest'
import { makeWorld, type Fate } from '../../support/world.js'
import { after } from '../../../../../test/support/after.js'

test('release that is sent twice is unknown when the store has forgotten the first', async () => {
  // It remembers no claim that has ended.
  const world = makeWorld(1, 0)
  world.wire.timeoutMs = 500
  const fates: Fate[] = ['drop-reply']
  world.wire.fate = (verb) => (verb === 'withdraw' ? (fates.shift() ?? 'deliver') : 'deliver')
  const events: string[] = []
  after(onLockEvent('lost', ({ reason }) => events.push(`lost ${reason}`)))
  after(onLockEvent('released', ({ outcome }) => events.push(outcome)))
  const lease = await world.clock.until(world.client().mutex('lock').acquire())
  const { signal } = lease
  await expect(world.clock.until(lease.release())).rejects.toMatchObject({
    code: 'RELEASE_UNKNOWN',
    message: expect.stringContaining('had ended when the release was repeated'),
  })
  expect(world.wire.sent.filter(({ verb }) => verb === 'withdraw')).toHaveLength(2)
  expect(events).toEqual([])
  expect(signal.aborted).toBe(false)
})

test('release that is sent twice is unknown when the grant was stolen before', async () => {
  const world = makeWorld()
  world.wire.timeoutMs = 500
  const fates: Fate[] = ['hang']
  world.wire.fate = (verb) => (verb === 'withdraw' ? (fates.shift() ?? 'deliver') : 'deliver')
  const lease = await world.clock.until(world.client().mutex('lock').acquire())
  await world.store.steal('lock', { now: true })
  await expect(world.clock.until(lease.release())).rejects.toMatchObject({
    code: 'RELEASE_UNKNOWN',
  })
})

test('release that is sent once and finds nothing announces the loss', async () => {
  const world = makeWorld()
  const lease = await world.clock.until(world.client().mutex('lock').acquire())
  await world.store.steal('lock', { now: true })
  expect(await world.clock.until(lease.release())).toBe('lost')
  expect(lease.signal.aborted).toBe(true)
})
