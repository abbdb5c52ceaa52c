/**
 * Elections in the turns that matter: a grant that meets a resignation, callers who share a
 * campaign, listeners that fail.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { spawnSync } from 'node:child_process'
import type { Election, LockLostError } from 'holdfast'
import { describe, expect, test } from 'vitest'
import { count, makeWorld, outcomeOf } from '../support/world.js'

describe('resign', () => {
  test('in the turn of the grant leaves no leader, and the lock free', async () => {
    const { direct } = makeWorld()
    const election = direct().election('scheduler')
    const campaign = outcomeOf(election.campaign())
    expect(await election.resign()).toBe(false)
    expect(await campaign).toHaveProperty('error.code', 'LOCK_USAGE')
    expect(election.isLeader).toBe(false)
    expect(await direct().mutex('scheduler').tryAcquire()).toBeDefined()
  })

  test('in the tick of a hand-off releases the lease that was handed off', async () => {
    const { direct, clock } = makeWorld()
    const locks = direct()
    const [leader, next] = [locks.election('scheduler'), locks.election('scheduler')]
    await leader.campaign()
    const campaign = outcomeOf(next.campaign())
    await clock.advance(10)
    const resigned = leader.resign()
    expect(await next.resign()).toBe(false)
    expect(await resigned).toBe(true)
    expect(await campaign).toHaveProperty('error.code', 'LOCK_USAGE')
    expect(next.isLeader).toBe(false)
    expect(await direct().mutex('scheduler').tryAcquire()).toBeDefined()
  })

  test('ends a campaign that tries once, too', async () => {
    const { client, direct, clock } = makeWorld()
    const election = client().election('scheduler')
    const campaign = outcomeOf(election.campaign({ waitMs: 0 }))
    expect(await election.resign()).toBe(false)
    expect(await clock.until(campaign)).toHaveProperty('error.code', 'LOCK_USAGE')
    expect(election.isLeader).toBe(false)
    expect(await direct().mutex('scheduler').tryAcquire()).toBeDefined()
  })

  test('a campaign that begins right after it does not end with the old one', async () => {
    const { direct, clock } = makeWorld()
    const busy = await direct().mutex('scheduler').acquire()
    const election = direct().election('scheduler')
    const old = outcomeOf(election.campaign())
    const resigned = election.resign()
    const campaigns = Promise.all([election.campaign(), election.campaign()])
    expect(await resigned).toBe(false)
    expect(await old).toHaveProperty('error.code', 'LOCK_USAGE')
    await busy.release()
    const [one, other] = await clock.until(campaigns)
    expect(one).toBe(other)
    expect(election.token).toBe(one.token)
  })

  test('out of a listener of the election', async () => {
    const { direct } = makeWorld()
    const election = direct().election('scheduler')
    let resigned: Promise<boolean> | undefined
    election.on('elected', () => void (resigned = election.resign()))
    const lease = await election.campaign()
    expect(await resigned).toBe(true)
    expect(lease.held).toBe(false)
  })
})

describe('resign after a loss', () => {
  test.each(['stolen', 'max-hold'])('lets the next one lead at once (%s)', async (reason) => {
    const { client, direct, clock } = makeWorld()
    const options = reason === 'max-hold' ? { maxHoldMs: 100 } : {}
    const election = client({ ttlMs: 10_000 }).election('scheduler', options)
    const lost = new Promise<unknown>((resolve) => void election.on('lost', resolve))
    await clock.until(election.campaign())
    const next = direct().election('scheduler')
    const campaign = next.campaign()
    if (reason === 'stolen') await direct().steal('scheduler')
    expect(await clock.until(lost, 5000)).toMatchObject({ reason })
    await clock.advance(50)
    expect(next.isLeader).toBe(false)
    expect(await election.resign()).toBe(false)
    await clock.until(campaign, 50)
    expect(next.isLeader).toBe(true)
  })
})

describe('callers of one campaign', () => {
  test('each has limits of its own, and the campaign continues for the others', async () => {
    const { direct, clock } = makeWorld()
    const busy = await direct().mutex('scheduler').acquire()
    const election = direct().election('scheduler')
    const stop = new AbortController()
    const first = outcomeOf(election.campaign({ signal: stop.signal }))
    const second = outcomeOf(election.campaign({ waitMs: 50 }))
    const third = election.campaign()
    const late = outcomeOf(election.campaign({ signal: AbortSignal.abort('too late') }))
    expect(await late).toEqual({ error: 'too late' })
    expect(await clock.until(second, 50)).toMatchObject({
      error: { code: 'LOCK_TIMEOUT', waitMs: 50 },
    })
    stop.abort('only the first')
    expect(await first).toEqual({ error: 'only the first' })
    await busy.release()
    expect(await clock.until(third)).toHaveProperty('held', true)
    expect(election.isLeader).toBe(true)
  })

  test('the last one to give up takes the candidate out of the queue', async () => {
    const { direct, clock } = makeWorld()
    const busy = await direct().mutex('scheduler').acquire()
    const election = direct().election('scheduler')
    const waiting = [{ waitMs: 50 }, { waitMs: 80 }].map((limit) =>
      outcomeOf(election.campaign(limit)),
    )
    for (const outcome of waiting) {
      expect(await clock.until(outcome, 100)).toHaveProperty('error.code', 'LOCK_TIMEOUT')
    }
    await busy.release()
    await clock.advance(10)
    expect(election.isLeader).toBe(false)
    expect(await direct().mutex('scheduler').tryAcquire()).toBeDefined()
  })

  test('stand in the queue as one, and lead with one lease', async () => {
    const world = makeWorld()
    const busy = await world.direct().mutex('scheduler').acquire()
    const election = world.client({ fairness: 'fifo' }).election('scheduler')
    const campaigns = [election.campaign(), election.campaign({ waitMs: 500 }), election.campaign()]
    await world.clock.advance(10)
    const {
      locks: [info],
    } = await world.direct().inspect()
    expect(info?.waiters).toHaveLength(1)
    await busy.release()
    const leases = await world.clock.until(Promise.all(campaigns))
    expect(new Set(leases).size).toBe(1)
    expect(count(world, 'withdraw')).toBe(0)
  })

  test('waitMs: 0 tries once, also beside callers that wait', async () => {
    const { direct, clock } = makeWorld()
    const busy = await direct().mutex('scheduler').acquire()
    const election = direct().election('scheduler')
    const once = outcomeOf(election.campaign({ waitMs: 0 }))
    const patient = election.campaign()
    expect(await clock.until(once, 10)).toMatchObject({
      error: { code: 'LOCK_TIMEOUT', waitMs: 0 },
    })
    await busy.release()
    expect(await clock.until(patient)).toHaveProperty('held', true)
  })

  test('all reject when the client closes', async () => {
    const { direct } = makeWorld()
    await direct().mutex('scheduler').acquire()
    const locks = direct()
    const election = locks.election('scheduler')
    const campaigns = [election.campaign(), election.campaign({ waitMs: 500 })].map((one) =>
      outcomeOf(one),
    )
    await locks.close()
    for (const outcome of campaigns)
      expect(await outcome).toHaveProperty('error.code', 'LOCKS_CLOSED')
    expect(await outcomeOf(election.campaign())).toHaveProperty('error.code', 'LOCKS_CLOSED')
  })
})

describe('a leadership that ended unseen', () => {
  test.each(['cohort', 'fifo'] as const)(
    'is emitted once before the next one (%s)',
    async (fairness) => {
      const { direct, clock } = makeWorld()
      const election = direct({ fairness, ttlMs: 200 }).election('scheduler')
      const events = noted(election)
      const old = await election.campaign()
      clock.freeze(400)
      const lease = await clock.until(election.campaign())
      await clock.advance(50)
      expect(events).toEqual(['elected', 'lost: deadline', 'elected'])
      expect(old.signal.aborted).toBe(true)
      expect(election.token).toBe(lease.token)
    },
  )

  test('is emitted as lost by resign()', async () => {
    const { direct, clock } = makeWorld()
    const election = direct({ ttlMs: 200 }).election('scheduler')
    const events = noted(election)
    await election.campaign()
    clock.freeze(400)
    expect(await election.resign()).toBe(false)
    await clock.advance(50)
    expect(events).toEqual(['elected', 'lost: deadline'])
  })

  test('by the word of the store alone, likewise', async () => {
    const { direct, store, clock } = makeWorld()
    const election = direct().election('scheduler')
    const events = noted(election)
    await election.campaign()
    await store.steal('scheduler', { now: true })
    expect(await election.resign()).toBe(false)
    await clock.advance(50)
    expect(events).toEqual(['elected', 'lost: expired'])
  })
})

test('a resignation with an unknown outcome counts as one', async () => {
  const { client, clock, wire } = makeWorld()
  const election = client({ ttlMs: 1000 }).election('scheduler')
  const events = noted(election)
  await clock.until(election.campaign())
  wire.fate = () => 'hang'
  const resigned = await clock.until(outcomeOf(election.resign()))
  expect(resigned).toHaveProperty('error.code', 'RELEASE_UNKNOWN')
  expect(election.isLeader).toBe(false)
  expect(events).toEqual(['elected', 'resigned'])
})

test('a listener hears of it in its own context, not in that of the candidate', async () => {
  const { direct } = makeWorld()
  const context = new AsyncLocalStorage<string>()
  const election = direct().election('scheduler')
  const heard: unknown[] = []
  context.run('the listener', () => {
    for (const event of ['elected', 'resigned'] as const)
      election.on(event, () => heard.push(context.getStore()))
  })
  await context.run('a candidate', async () => {
    await election.campaign()
    await election.resign()
  })
  expect(heard).toEqual(['the listener', 'the listener'])
})

test('a listener that throws is an uncaught exception, and fails neither the campaign nor the other listeners', () => {
  const program = `
    import { createLocks } from 'holdfast'
    import { memoryStore } from 'holdfast/memory'
    process.on('uncaughtException', (error) => console.log('uncaught', error.message))
    const election = createLocks(memoryStore()).election('scheduler')
    for (const event of ['elected', 'resigned']) {
      election.on(event, () => { throw new Error(event) })
      election.on(event, () => console.log('event', event))
    }
    const lease = await election.campaign()
    console.log('leads', election.isLeader && lease.held)
    console.log('resigned', await election.resign())`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  })
  expect(stdout.trim().split('\n').toSorted()).toEqual(
    [
      'event elected',
      'uncaught elected',
      'leads true',
      'event resigned',
      'uncaught resigned',
      'resigned true',
    ].toSorted(),
  )
})

/** Collects the events of the election. */
function noted(election: Election): string[] {
  const events: string[] = []
  election.on('elected', () => events.push('elected'))
  election.on('lost', (error) => events.push(`lost: ${(error as LockLostError).reason}`))
  election.on('resigned', () => events.push('resigned'))
  return events
}

describe('lead', () => {
  test('waits for nested work before it resigns', async () => {
    const { direct } = makeWorld()
    const election = direct().election('scheduler')
    const order: string[] = []
    await election.lead((lease) => {
      void lease.run(async () => {
        await Promise.resolve()
        order.push('nested')
      })
      election.on('resigned', () => order.push('resigned'))
    })
    expect(order).toEqual(['nested', 'resigned'])
  })

  test('one call at a time leads, and the next one may follow', async () => {
    const { direct } = makeWorld()
    const election = direct().election('scheduler')
    await election.lead(async () => {
      await expect(election.lead(() => 1)).rejects.toMatchObject({ code: 'LOCK_USAGE' })
    })
    expect(await election.lead(() => 2)).toBe(2)
  })

  test('a signal that aborts during the campaign ends it, and leaves no candidate', async () => {
    const { direct } = makeWorld()
    const busy = await direct().mutex('scheduler').acquire()
    const election = direct().election('scheduler')
    const stop = new AbortController()
    const leading = outcomeOf(election.lead(() => 1, { signal: stop.signal }))
    stop.abort(new RangeError('shutdown'))
    expect(await leading).toHaveProperty('error', stop.signal.reason)
    await busy.release()
    expect(await direct().mutex('scheduler').tryAcquire()).toBeDefined()
  })

  test('resign() during its campaign rejects it', async () => {
    const { direct } = makeWorld()
    await direct().mutex('scheduler').acquire()
    const election = direct().election('scheduler')
    const leading = outcomeOf(election.lead(() => 1))
    expect(await election.resign()).toBe(false)
    expect(await leading).toHaveProperty('error.code', 'LOCK_USAGE')
  })

  test('after a loss runs the work again, and settles by the leadership that was not lost', async () => {
    const { direct, store, clock } = makeWorld()
    const election = direct({ ttlMs: 200 }).election('scheduler')
    const begun: bigint[] = []
    const leading = election.lead(async (lease) => {
      begun.push(lease.token)
      if (begun.length === 3) return 'done'
      await store.steal('scheduler', { now: true })
      await new Promise((aborted) => lease.signal.addEventListener('abort', aborted))
      if (begun.length === 1) return 'dropped'
      throw new RangeError('dropped')
    })
    expect(await clock.until(leading, 5000)).toBe('done')
    expect(begun).toEqual([...new Set(begun)].sort((one, other) => (one < other ? -1 : 1)))
    expect(election.isLeader).toBe(false)
  })

  test('after a loss rejects when the client closes', async () => {
    const { direct, store, clock } = makeWorld()
    const locks = direct({ ttlMs: 200 })
    let turns = 0
    const leading = outcomeOf(
      locks.election('scheduler').lead(async (lease) => {
        turns += 1
        await store.steal('scheduler', { now: true })
        await direct().mutex('scheduler').acquire({ ttlMs: 60_000, renew: false })
        await new Promise((aborted) => lease.signal.addEventListener('abort', aborted))
      }),
    )
    await clock.advance(1000)
    await clock.until(locks.close(), 10_000)
    expect(await leading).toHaveProperty('error.code', 'LOCKS_CLOSED')
    expect(turns).toBe(1)
  })

  test.each([undefined, 1, {}])('refuses %s as the work', async (work) => {
    const { direct } = makeWorld()
    const leading = direct()
      .election('scheduler')
      .lead(work as never)
    await expect(leading).rejects.toMatchObject({ code: 'LOCK_USAGE' })
  })
})

describe('observe', () => {
  test('ends with the reason of its signal, and when the client closes', async () => {
    const { direct } = makeWorld()
    const stop = new AbortController()
    const one = direct().election('scheduler').observe({ signal: stop.signal })
    expect(await one.next()).toEqual({ done: false, value: { leader: undefined } })
    const locks = direct()
    const other = locks.election('scheduler').observe()
    await other.next()
    const ends = [outcomeOf(one.next()), outcomeOf(other.next())]
    await Promise.resolve()
    stop.abort(new RangeError('shutdown'))
    expect(await ends[0]).toHaveProperty('error', stop.signal.reason)
    await locks.close()
    expect(await ends[1]).toHaveProperty('error.code', 'LOCKS_CLOSED')
    expect(await one.next()).toEqual({ done: true, value: undefined })
  })
})
