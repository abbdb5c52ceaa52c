/** `logLockEvents`, with pino. */
import { Writable } from 'node:stream'
import { LockUsageError, logLockEvents, type LogOptions } from 'holdfast'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { subscribed } from '../../support/traces.js'
import { makeWorld, outcomeOf } from '../../support/world.js'

/** Logs until the test ends, and returns the lines. */
function logged(options?: LogOptions): { lines: Record<string, unknown>[]; stop: () => void } {
  const lines: Record<string, unknown>[] = []
  const output = new Writable({
    write(chunk: Buffer, _, done) {
      lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>)
      done()
    },
  })
  const stop = logLockEvents(pino({ level: 'debug' }, output), options)
  onTestFinished(stop)
  return { lines, stop }
}

test('a lost lease is an error with its fields, its token as text', async () => {
  const { lines } = logged({ levels: { granted: 'debug' } })
  const world = makeWorld()
  const lease = await world.direct().mutex('a').acquire()
  await world.store.steal('a', { now: true })
  await outcomeOf(lease.renew())
  const { claimId, token } = lease
  const fields = { lock: 'a', kind: 'mutex', store: 'memory', claimId }
  expect(lines).toMatchObject([
    { level: 20, msg: 'holdfast granted: "a"', event: 'granted', ...fields, token: String(token) },
    { level: 50, msg: 'holdfast lost: "a"', event: 'lost', ...fields, reason: 'stolen' },
  ])
})

test('an election is logged with the change, and its error as err', async () => {
  const { lines } = logged({ levels: { lost: 'silent' } })
  const world = makeWorld()
  const lease = await world.direct().election('e').campaign()
  await world.store.steal('e', { now: true })
  await outcomeOf(lease.renew())
  expect(lines).toMatchObject([
    { level: 30, event: 'election', change: 'elected' },
    { level: 30, event: 'election', change: 'lost', err: { code: 'LOCK_LOST' } },
  ])
})

test('frequent events are silent by default, and a timeout is a warning', async () => {
  const { lines } = logged()
  const world = makeWorld()
  const locks = world.direct()
  await locks.mutex('a').run(() => locks.mutex('b').acquire())
  await world.clock.until(outcomeOf(world.client().mutex('b').acquire({ waitMs: 20 })))
  expect(lines).toMatchObject([{ level: 40, event: 'timed-out', lock: 'b', durationMs: 20 }])
})

test('a foreign error is logged without its fields', async () => {
  const { lines } = logged()
  const world = makeWorld()
  const locks = world.client()
  const password = 'hunter2'
  await world.clock.until(locks.mutex('a').acquire())
  const watch = (): never => {
    throw Object.assign(new Error('no'), { password })
  }
  Object.assign(world.store, {
    watch: () => ({ ready: Promise.resolve().then(watch), close() {} }),
  })
  const waiting = outcomeOf(world.direct().mutex('a').acquire({ waitMs: 50 }))
  await world.clock.until(waiting)
  expect(lines[0]).toMatchObject({ event: 'error', during: 'watch', err: { message: 'no' } })
  expect(JSON.stringify(lines)).not.toContain(password)
})

test('stop leaves nothing', async () => {
  const { lines, stop } = logged({ levels: { granted: 'info' } })
  stop()
  await makeWorld().direct().mutex('a').acquire()
  expect(lines).toEqual([])
  expect(subscribed()).toEqual([])
})

describe('logLockEvents', () => {
  test.each([
    [console.log, {}, 'a function has no error'],
    [undefined, {}, 'undefined has no error'],
    [console, { levels: { granted: 'trace' } }, 'The level of granted in logLockEvents must be'],
    [console, { levels: { grant: 'info' } }, 'Did you mean "granted"?'],
    [console, { level: {} }, 'Did you mean "levels"?'],
  ])('refuses %o with %o', (logger, options, message) => {
    const call = (): unknown => logLockEvents(logger as never, options as never)
    expect(call).toThrow(LockUsageError)
    expect(call).toThrow(message)
  })
})
