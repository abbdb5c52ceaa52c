/** `holdfastMetrics`, with prom-client. */
import { LockUsageError } from 'holdfast'
import { holdfastMetrics, type MetricsOptions } from 'holdfast/prometheus'
import { Counter, register as globalRegister, Registry } from 'prom-client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { OUTCOMES, prepareSixCalls } from '../support/outcomes.js'
import { subscribed } from '../support/traces.js'
import { makeWorld } from '../support/world.js'

/** Registers the metrics until the test ends. */
function registered(options: MetricsOptions = {}): { register: Registry; stop: () => void } {
  const register = new Registry()
  const stop = holdfastMetrics({ register, ...options })
  onTestFinished(stop)
  return { register, stop }
}

test('six calls with one outcome each leave one histogram for each outcome', async () => {
  const calls = await prepareSixCalls()
  const { register } = registered()
  await calls.make()
  const text = await register.getSingleMetricAsString('holdfast_lock_acquire_duration_seconds')
  const counts = text.split('\n').filter((line) => line.includes('_count'))
  const outcomes = counts.map((line) => /outcome="(\w+)".* 1$/.exec(line)?.[1])
  expect(outcomes.toSorted()).toEqual(OUTCOMES.toSorted())
  expect(text).toContain('error_type="LOCK_MISMATCH"')
})

test('gauges show what is so when they are read', async () => {
  const { register } = registered({ prefix: 'shop_', lockName: (name) => name })
  const locks = makeWorld().direct()
  const lease = await locks.mutex('a').acquire()
  const active = async (): Promise<string> =>
    (await register.getSingleMetricAsString('shop_leases_active')).split('\n').at(-1) ?? ''
  expect(await active()).toBe('shop_leases_active{store="memory",kind="mutex",lock="a"} 1')
  await lease.release()
  expect(await active()).toBe('shop_leases_active{store="memory",kind="mutex",lock="a"} 0')
  const election = locks.election('e')
  await election.campaign()
  expect(await register.metrics()).toContain('shop_election_leading{store="memory",election="e"} 1')
})

test('a lost lease is counted by its reason', async () => {
  const { register } = registered()
  const world = makeWorld()
  const lease = await world.direct().mutex('a').acquire()
  await world.store.steal('a', { now: true })
  await lease.renew().catch(() => undefined)
  expect(await register.metrics()).toContain(
    'holdfast_lease_losses_total{store="memory",kind="mutex",reason="stolen"} 1',
  )
})

test('stop removes the metrics from the registry', async () => {
  const { register, stop } = registered()
  await makeWorld().direct().mutex('a').acquire()
  stop()
  expect(register.getMetricsAsArray()).toEqual([])
  expect(subscribed()).toEqual([])
  holdfastMetrics({ register })()
})

test('the global registry is the default', () => {
  const stop = holdfastMetrics()
  onTestFinished(stop)
  expect(globalRegister.getSingleMetric('holdfast_leases_active')).toBeDefined()
})

describe('holdfastMetrics', () => {
  test.each([
    [{ register: {} }, 'register of holdfastMetrics must be a Registry of prom-client'],
    [{ prefix: 'a-b' }, 'prefix of holdfastMetrics must be letters'],
    [{ registry: new Registry() }, 'Did you mean "register"?'],
  ])('refuses %o', (options, message) => {
    const call = (): unknown => holdfastMetrics(options as never)
    expect(call).toThrow(LockUsageError)
    expect(call).toThrow(message)
  })

  test('refuses a registry with a metric of the same name, and leaves no metric there', () => {
    const register = new Registry()
    const name = 'holdfast_leases_active'
    register.registerMetric(new Counter({ name, help: 'Of the program.', registers: [] }))
    expect(() => holdfastMetrics({ register })).toThrow(`has a metric ${name} already`)
    expect(register.getMetricsAsArray()).toHaveLength(1)
  })
})
