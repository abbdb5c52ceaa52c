/** `exportPrometheus`: the text format, its series, and what `promtool` says of it. */
import { execFileSync } from 'node:child_process'
import { createLocks, LockUsageError, type Locks } from 'holdfast'
import { memoryStore } from 'holdfast/memory'
import { exportPrometheus, type ExportOptions, type PrometheusExport } from 'holdfast/prometheus'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isFull } from '../../../../test/support/plan.js'
import { OUTCOMES, prepareSixCalls } from '../support/outcomes.js'
import { subscribed } from '../support/traces.js'
import { makeWorld } from '../support/world.js'

/** Exports until the test ends. */
function exported(locks: Locks | readonly Locks[], options?: ExportOptions): PrometheusExport {
  const metrics = exportPrometheus(locks, options)
  onTestFinished(() => metrics.stop())
  return metrics
}

/** Returns the samples whose names begin like that. */
function samples(metrics: PrometheusExport, name: string): string[] {
  return metrics
    .text()
    .split('\n')
    .filter((line) => line.startsWith(name))
}

test('six calls with one outcome each leave one histogram for each outcome', async () => {
  const { locks, make } = await prepareSixCalls()
  const metrics = exported(locks)
  await make()
  const counts = samples(metrics, 'holdfast_lock_acquire_duration_seconds_count')
  const outcomes = counts.map((line) => /outcome="(\w+)".* 1$/.exec(line)?.[1])
  expect(outcomes.toSorted()).toEqual(OUTCOMES.toSorted())
  expect(counts.filter((line) => line.includes('error_type="LOCK_MISMATCH"'))).toHaveLength(1)
})

test('a histogram counts the durations up to each bound, and names are escaped', async () => {
  const world = makeWorld()
  const locks = world.client()
  const metrics = exported(locks, {
    prefix: 'shop_',
    buckets: [0.5, 1],
    lockName: (name) => `the "lock"\\\n${name}`,
  })
  for (const ms of [200, 700, 1_500])
    await world.clock.until(locks.mutex('a').run(() => world.clock.advance(ms)))
  const name = 'shop_lock_hold_duration_seconds'
  const labels = String.raw`store="remote memory",kind="mutex",lock="the \"lock\"\\\na",outcome="released"`
  expect(samples(metrics, `${name}_bucket`)).toEqual([
    `${name}_bucket{${labels},le="0.5"} 1`,
    `${name}_bucket{${labels},le="1"} 2`,
    `${name}_bucket{${labels},le="+Inf"} 3`,
  ])
  expect(samples(metrics, `${name}_count`)).toEqual([`${name}_count{${labels}} 3`])
  expect(metrics.text()).toContain(`# TYPE ${name} histogram\n`)
})

test('gauges show leases, waits and leaders as they are now', async () => {
  const world = makeWorld()
  const locks = world.direct()
  const metrics = exported(locks)
  const lease = await locks.mutex('a').acquire()
  void locks.mutex('a').acquire()
  const election = locks.election('e')
  await election.campaign()
  const lock = '{store="memory",kind="mutex"}'
  const leader = '{store="memory",election="e"}'
  expect(samples(metrics, 'holdfast_leases')).toEqual([`holdfast_leases_active${lock} 2`])
  expect(samples(metrics, 'holdfast_waits')).toEqual([`holdfast_waits_active${lock} 1`])
  expect(samples(metrics, 'holdfast_election')).toEqual([`holdfast_election_leading${leader} 1`])
  await lease.release()
  await election.resign()
  await locks.close()
  expect(samples(metrics, 'holdfast_leases')).toEqual([`holdfast_leases_active${lock} 0`])
  expect(samples(metrics, 'holdfast_waits')).toEqual([`holdfast_waits_active${lock} 0`])
  expect(samples(metrics, 'holdfast_election')).toEqual([`holdfast_election_leading${leader} 0`])
})

test('10 000 names of locks leave at most 200 series', async () => {
  const locks = createLocks(memoryStore())
  onTestFinished(() => locks.close())
  const metrics = exported(locks)
  for (let index = 0; index < 10_000; index += 1) {
    const mutex = locks.mutex(`order:${index}`)
    await mutex.run(async (lease) => {
      await mutex.tryAcquire()
      if (index % 100 === 0) await lease.renew()
    })
  }
  const series = metrics
    .text()
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  expect(series.length).toBeGreaterThan(30)
  expect(series.length).toBeLessThanOrEqual(200)
})

test('only the clients that were given are measured', async () => {
  const world = makeWorld()
  const [one, other] = [world.direct(), world.direct()]
  const metrics = exported([one])
  await other.mutex('a').run(() => undefined)
  expect(metrics.text()).toBe('')
  await one.mutex('a').run(() => undefined)
  expect(metrics.text()).not.toBe('')
})

test('stop leaves nothing', async () => {
  const locks = makeWorld().direct()
  const metrics = exported(locks)
  await locks.mutex('a').acquire()
  metrics.stop()
  expect(metrics.text()).toBe('')
  expect(subscribed()).toEqual([])
})

test.runIf(isFull())('promtool finds nothing to say about the metrics', async () => {
  const { locks, make } = await prepareSixCalls()
  const metrics = exported(locks)
  await make()
  const election = locks.election('e')
  const lease = await election.campaign()
  await locks.steal('e', { now: true })
  await lease.renew().catch(() => undefined)
  const kinds = ['histogram', 'counter', 'gauge'].map((kind) => metrics.text().includes(` ${kind}`))
  expect(kinds).toEqual([true, true, true])
  const said = execFileSync('promtool', ['check', 'metrics'], {
    input: metrics.text(),
    encoding: 'utf8',
    stdio: 'pipe',
  })
  expect(said).toBe('')
})

describe('exportPrometheus', () => {
  const locks = makeWorld().direct()
  test.each([
    [undefined, {}, 'takes what createLocks returned'],
    [locks, { prefix: '0 ' }, 'prefix of exportPrometheus must be letters'],
    [locks, { buckets: [] }, 'buckets of exportPrometheus must be numbers of seconds'],
    [locks, { lockName: true }, 'lockName of exportPrometheus must be a function'],
    [locks, { bucket: [1] }, 'Did you mean "buckets"?'],
  ])('refuses %o with %o', (given, options, message) => {
    const call = (): unknown => exportPrometheus(given as never, options as never)
    expect(call).toThrow(LockUsageError)
    expect(call).toThrow(message)
  })
})
