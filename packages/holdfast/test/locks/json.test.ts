/**
 * `JSON.stringify` and `console.log` of what users get: tokens are decimal strings in JSON, and
 * nothing throws.
 */
import { inspect } from 'node:util'
import { LockTimeoutError, onLockEvent, type LockEvents } from 'holdfast'
import { expect, test } from 'vitest'
import { makeWorld } from '../support/world.js'

const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown

test('leases, multi-leases, what inspect shows, events and errors', async () => {
  const locks = makeWorld().direct()
  const granted: LockEvents['granted'][] = []
  const stop = onLockEvent('granted', (event) => void granted.push(event))
  const lease = await locks.mutex('a').acquire()
  stop()
  const token = String(lease.token)
  expect(json(lease)).toMatchObject({ name: 'a', claimId: lease.claimId, token, held: true })
  expect(json(granted)).toMatchObject([{ lock: 'a', token }])
  expect(json(await locks.inspect())).toMatchObject([
    { lock: 'a', lastToken: token, holders: [{ token }] },
  ])
  expect(json(await locks.election('a').leader())).toMatchObject({ token })
  const multi = await locks.multi([locks.mutex('b'), locks.mutex('c')]).acquire()
  expect(json(multi)).toMatchObject({ held: true, leases: [{ name: 'b' }, { name: 'c' }] })
  const error = new LockTimeoutError(5, { lock: 'a' })
  expect(json(error)).toMatchObject({
    name: 'LockTimeoutError',
    code: 'LOCK_TIMEOUT',
    message: error.message,
    lock: 'a',
  })
})

test('console.log of a lease shows its name, token and state', async () => {
  const locks = makeWorld().direct()
  const lease = await locks.mutex('shown').acquire()
  expect(inspect({ lease })).toContain(`name: 'shown'`)
  expect(inspect(lease)).toContain(`token: '${String(lease.token)}'`)
  expect(inspect(lease)).toContain('held: true')
  await lease.release()
  expect(inspect(lease)).toContain('held: false')
})
