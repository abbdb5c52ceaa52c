/**
 * A writer that becomes a reader: from the moment that it asks, no caller of its process is a
 * writer in its place.
 */
import type { Fairness, Lease } from 'holdfast'
import { describe, expect, test } from 'vitest'
import { makeWorld, outcomeOf } from '../../support/world.js'

/**
 * Two writers of one process, of which the first one has the lock, and a reader of another one
 * behind them.
 */
async function writersBeforeReader(fairness: Fairness) {
  const world = makeWorld()
  const { clock } = world
  const locks = world.client({ fairness, requestTimeoutMs: 5 })
  const other = world.direct()
  const before = await clock.until(other.readWriteLock('a').write.acquire())
  return {
    world,
    clock,
    write: locks.readWriteLock('a').write,
    before,
    read: other.readWriteLock('a').read,
  }
}

/** The leases that come of some acquisitions, as they come. */
function collect(...acquiring: readonly Promise<Lease>[]): readonly Lease[] {
  const leases: Lease[] = []
  for (const one of acquiring) {
    void outcomeOf(one).then((outcome) => 'value' in outcome && leases.push(outcome.value))
  }
  return leases
}

/** Long enough for a heartbeat, which asks for tokens to hand on. */
const A_HEARTBEAT_MS = 1300

describe.each<Fairness>(['cohort', 'fifo'])('%s', (fairness) => {
  test('a release beside a downgrade hands nothing on', async () => {
    const { clock, write, before, read } = await writersBeforeReader(fairness)
    const first = write.acquire()
    const second = write.acquire()
    await clock.advance(A_HEARTBEAT_MS)
    await clock.until(before.release())
    const lease = await clock.until(first)
    const reading = read.acquire()
    const leases = collect(second, reading)
    const downgrading = outcomeOf(lease.downgrade())
    await clock.until(lease.release())
    await clock.until(downgrading)
    await clock.advance(50)
    expect(leases.filter(({ held }) => held)).toHaveLength(1)
  })

  test('nor does one after a downgrade whose answer was lost', async () => {
    const { world, clock, write, before, read } = await writersBeforeReader(fairness)
    world.wire.fate = (verb) => (verb === 'downgrade' ? 'drop-reply' : 'deliver')
    const first = outcomeOf(write.run((lease) => lease.downgrade()))
    const second = write.acquire()
    await clock.advance(A_HEARTBEAT_MS)
    const leases = collect(second, read.acquire())
    await clock.until(before.release())
    expect(await clock.until(first)).toHaveProperty('error.code', 'STORE_UNAVAILABLE')
    await clock.advance(50)
    expect(leases.filter(({ held }) => held)).toHaveLength(1)
  })
})
