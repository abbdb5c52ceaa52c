/**
 * The process stands still between a grant and the first instruction of the callback, for longer
 * than the lease lasts.
 */
import { onLockEvent, type Lease, type Locks } from 'holdfast'
import { describe, expect, test } from 'vitest'
import { makeWorld, outcomeOf } from '../../support/world.js'

const TTL_MS = 1000
/** More promise callbacks than there are between a grant and the callback. */
const STEPS = 40

type Started = (lease: Pick<Lease, 'held'>) => void

/** Each calls `started` first in the callback. */
const REFUSE: Record<string, (locks: Locks, started: Started) => Promise<unknown>> = {
  'mutex.run': (locks, started) => locks.mutex('a').run(started),
  'run of a fifo mutex': (locks, started) => locks.mutex('a', { fairness: 'fifo' }).run(started),
  'run without renewal': (locks, started) => locks.mutex('a', { renew: false }).run(started),
  'run with waitMs 0': (locks, started) => locks.mutex('a').run(started, { waitMs: 0 }),
  'run of a reader': (locks, started) => locks.readWriteLock('a').read.run(started),
  'run of a writer': (locks, started) => locks.readWriteLock('a').write.run(started),
  'semaphore.run': (locks, started) =>
    locks.semaphore('a', { permits: 3 }).run(started, { weight: 2 }),
  'run of a stripe': (locks, started) => locks.striped('a', { stripes: 4 }).for('key').run(started),
  'lease.run': async (locks, started) => {
    const lease = await locks.mutex('a').acquire()
    try {
      await lease.run(started)
    } finally {
      await lease.release()
    }
  },
  'singleFlight.run': (locks, started) => {
    const load = (lease: Lease): number => {
      started(lease)
      return 1
    }
    return locks.singleFlight('a').run(load, { read: async () => undefined })
  },
  're-entrant run': (locks, started) => {
    const lock = locks.mutex('a', { reentrant: true })
    return lock.run(async () => {
      for (let i = 0; i < 5; i++) await Promise.resolve()
      await lock.run(started)
    })
  },
  're-entrant runs that take turns': (locks, started) => {
    const lock = locks.mutex('a', { reentrant: true })
    return lock.run(async () => {
      await Promise.all([1, 2, 3].map(() => lock.run(async (lease) => started(lease))))
    })
  },
}

/** These acquire again instead of a failure. */
const ACQUIRE_AGAIN: typeof REFUSE = {
  'multi.run': (locks, started) => locks.multi([locks.mutex('a'), locks.mutex('b')]).run(started),
  'the event elected': async (locks, started) => {
    const election = locks.election('a')
    election.on('elected', started)
    await election.campaign()
    await election.resign()
  },
}

interface Seen {
  /** Whether the lease was held when the callback started, for each start. */
  readonly starts: readonly boolean[]
  readonly errors: readonly unknown[]
}

/**
 * Runs a subject twice at once, and stops the process a number of promise callbacks after a grant.
 */
async function stoppedAfter(
  steps: number,
  event: 'granted' | 'handed-off',
  subject: (locks: Locks, started: Started) => Promise<unknown>,
): Promise<Seen> {
  const { client, clock } = makeWorld()
  let pending = steps !== Infinity
  const stop = onLockEvent(event, () => {
    if (pending) void afterSteps(steps).then(() => clock.freeze(2 * TTL_MS))
    pending = false
  })
  const starts: boolean[] = []
  const locks = client({ ttlMs: TTL_MS })
  const started: Started = (lease) => void starts.push(lease.held)
  try {
    const runs = [subject(locks, started), subject(locks, started)]
    const outcomes = await clock.until(Promise.all(runs.map(outcomeOf)))
    return {
      starts,
      errors: outcomes.flatMap((outcome) => ('error' in outcome ? [outcome.error] : [])),
    }
  } finally {
    stop()
  }
}

async function afterSteps(steps: number): Promise<void> {
  for (let i = 0; i < steps; i++) await Promise.resolve()
}

async function atEachStep(
  subject: (locks: Locks, started: Started) => Promise<unknown>,
): Promise<Seen[]> {
  const seen: Seen[] = []
  for (const event of ['granted', 'handed-off'] as const) {
    for (let steps = 0; steps < STEPS; steps++) seen.push(await stoppedAfter(steps, event, subject))
  }
  return seen
}

describe('a process that is stopped between the grant and the callback', () => {
  test.each(Object.entries(REFUSE))(
    '%s rejects with LOCK_LOST, callback does not start',
    async (_, subject) => {
      const usual = await stoppedAfter(Infinity, 'granted', subject)
      const seen = await atEachStep(subject)
      expect(seen.flatMap(({ starts }) => starts)).not.toContain(false)
      const lost = { code: 'LOCK_LOST', reason: 'deadline' }
      const refused = seen.filter(({ starts }) => starts.length < usual.starts.length)
      expect(refused.length).toBeGreaterThan(0)
      for (const { errors } of refused) expect(errors).toContainEqual(expect.objectContaining(lost))
    },
  )

  test.each(Object.entries(ACQUIRE_AGAIN))('%s waits for another lease', async (_, subject) => {
    const seen = await atEachStep(subject)
    expect(seen.flatMap(({ starts }) => starts)).not.toContain(false)
    for (const { starts, errors } of seen) {
      for (const error of errors) expect(error).toMatchObject({ code: 'LOCK_LOST' })
      expect(starts).toHaveLength(2)
    }
  })

  test('a campaign that tries once never leads with a lease that has ended', async () => {
    const seen = await atEachStep(async (locks, started) => {
      const election = locks.election('a')
      election.on('elected', started)
      await election.campaign({ waitMs: 0 })
      await election.resign()
    })
    expect(seen.flatMap(({ starts }) => starts)).not.toContain(false)
  })

  test('multi.tryAcquire does not return leases that have ended', async () => {
    let refused = 0
    for (let steps = 0; steps < STEPS; steps++) {
      const { client, clock } = makeWorld()
      const locks = client({ ttlMs: TTL_MS })
      const stop = onLockEvent('granted', ({ lock }) => {
        if (lock === 'b') void afterSteps(steps).then(() => clock.freeze(2 * TTL_MS))
      })
      const lease = await clock.until(
        locks.multi([locks.mutex('a'), locks.mutex('b')]).tryAcquire(),
      )
      stop()
      if (lease === undefined) refused += 1
    }
    expect(refused).toBeGreaterThan(0)
  })
})
