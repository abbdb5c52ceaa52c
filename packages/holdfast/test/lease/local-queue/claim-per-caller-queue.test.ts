/**
 * Callers with claims of their own: the first of them gets the first grant, and a fixed lease its
 * whole TTL.
 */
import type { Locks } from 'holdfast'
import type { Claim } from 'holdfast/store'
import { describe, expect, test } from 'vitest'
import { makeWorld, outcomeOf, type Fate, type World } from '../../support/world.js'

/** Two callers in one tick, whose attempts reach the store in the other order. */
async function crossing(
  world: World,
  ask: (locks: Locks) => Promise<{ release(): Promise<unknown> }>,
) {
  const holder = await world.direct().mutex('a').acquire()
  const locks = world.client()
  const served: string[] = []
  const call = (name: string, latencyMs: number): void => {
    world.wire.latencyMs = latencyMs
    void ask(locks).then(async (lease) => {
      served.push(name)
      await lease.release()
    })
  }
  call('first', 20)
  call('second', 1)
  world.wire.latencyMs = 1
  await world.clock.advance(100)
  await world.clock.until(holder.release())
  await world.clock.advance(100)
  return served
}

describe('callers of one client', () => {
  test('are served in the order of their calls where their attempts overtake each other (fifo)', async () => {
    const served = await crossing(makeWorld(), (locks) =>
      locks.mutex('a', { fairness: 'fifo' }).acquire(),
    )
    expect(served).toEqual(['first', 'second'])
  })

  test('are served in the order of their calls where their attempts overtake each other (fixed leases)', async () => {
    const served = await crossing(makeWorld(), (locks) =>
      locks.mutex('a', { renew: false }).acquire(),
    )
    expect(served).toEqual(['first', 'second'])
  })

  test('that give up take their places along', async () => {
    const world = makeWorld()
    const [one, two] = [world.client({ fairness: 'fifo' }), world.client({ fairness: 'fifo' })]
    const holder = await world.direct().mutex('a').acquire()
    const giving = one
      .mutex('a')
      .acquire({ waitMs: 50 })
      .catch(() => 'gave up')
    await world.clock.advance(5)
    const served: string[] = []
    const note = (name: string) => (): void => void served.push(name)
    void two.mutex('a').run(note('two'))
    await world.clock.advance(5)
    void one.mutex('a').run(note('one'))
    await world.clock.advance(60)
    expect(await giving).toBe('gave up')
    await world.clock.until(holder.release())
    await world.clock.advance(50)
    expect(served).toEqual(['two', 'one'])
  })
})

/**
 * Starts a first caller, and returns how to add others. The answer to the first attempt of the
 * first one meets this fate.
 */
function permitCallers(world: World, fate: Fate) {
  const permits = world.client().semaphore('a', { permits: 3 })
  let attempts = 0
  let firstClaim: unknown
  world.wire.fate = (verb, argument) => {
    if (verb !== 'attempt') return 'deliver'
    const { id } = argument as Claim
    firstClaim ??= id
    attempts += 1
    return id === firstClaim && (attempts === 1 || fate === 'hang') ? fate : 'deliver'
  }
  const served: string[] = []
  const tokens: bigint[] = []
  const call = async (name: string, waitMs = Infinity): Promise<void> => {
    const lease = await permits.acquire({ waitMs })
    served.push(name)
    tokens.push(lease.token)
  }
  void call('first')
  return { served, tokens, call }
}

describe('callers of one client for permits that are free', () => {
  test('are served in the order of their calls where the first answer is lost', async () => {
    const world = makeWorld()
    const { served, tokens, call } = permitCallers(world, 'drop-reply')
    void call('second')
    await world.clock.advance(20)
    expect(served).toEqual(['first', 'second'])
    expect(tokens[1]).toBeGreaterThan(tokens[0] as bigint)
  })

  test('wait a second at most for an earlier claim that is not answered', async () => {
    const world = makeWorld()
    const { served, call } = permitCallers(world, 'hang')
    void call('second')
    await world.clock.advance(990)
    expect(served).toEqual([])
    await world.clock.advance(20)
    expect(served).toEqual(['second'])
  })

  test('give a grant back that is held back when its caller gives up', async () => {
    const world = makeWorld()
    const { served, call } = permitCallers(world, 'hang')
    const second = outcomeOf(call('second', 500))
    await world.clock.advance(600)
    expect(await second).toMatchObject({ error: { code: 'LOCK_TIMEOUT' } })
    expect(served).toEqual([])
    const all = world.direct().semaphore('a', { permits: 3 })
    expect(await world.clock.until(all.tryAcquire({ weight: 3 }))).toBeDefined()
  })

  test('get no grant that the clocks cast doubt on while it was held back', async () => {
    const world = makeWorld()
    const permits = world.client().semaphore('a', { permits: 3 })
    let firstClaim: unknown
    world.wire.fate = (verb, argument) => {
      if (verb !== 'attempt') return 'deliver'
      const { id } = argument as Claim
      firstClaim ??= id
      return id === firstClaim ? 'hang' : 'deliver'
    }
    void permits.acquire()
    const heldAtOnce = permits.acquire().then((lease) => lease.held)
    await world.clock.advance(500)
    world.clock.stepWall(60_000)
    await world.clock.advance(600)
    expect(await world.clock.until(heldAtOnce)).toBe(true)
  })

  test('are served at once when the earlier caller gives up', async () => {
    const world = makeWorld()
    const permits = world.client().semaphore('a', { permits: 3 })
    let attempts = 0
    world.wire.fate = (verb) => (verb === 'attempt' && attempts++ === 0 ? 'hang' : 'deliver')
    const giving = new AbortController()
    const first = outcomeOf(permits.acquire({ signal: giving.signal }))
    const second = permits.acquire()
    await world.clock.advance(1)
    giving.abort(new Error('enough'))
    await world.clock.advance(10)
    expect(await first).toMatchObject({ error: { message: 'enough' } })
    expect((await second).held).toBe(true)
  })
})

describe('a fixed lease that was waited for', () => {
  test.each([500, 3000, 30_000])('has its whole TTL at the hand-out (%i ms)', async (ttlMs) => {
    const world = makeWorld()
    const holder = await world.direct().mutex('a').acquire()
    const waiting = world.client({ ttlMs, renew: false }).mutex('a').acquire()
    await world.clock.advance(Math.min(1000, ttlMs / 3) * 1.9)
    await world.clock.until(holder.release())
    const lease = await world.clock.until(waiting)
    expect(lease.remainingMs).toBeGreaterThanOrEqual(0.97 * ttlMs)
    await world.clock.advance(0.95 * ttlMs)
    expect(lease.held).toBe(true)
  })

  test('is topped up as soon as the store answers again, or is waited for again', async () => {
    const world = makeWorld()
    const holder = await world.direct().mutex('a').acquire()
    const waiting = world.client({ ttlMs: 3000, renew: false }).mutex('a').acquire()
    await world.clock.advance(1500)
    world.wire.fate = (verb) => (verb === 'renew' ? 'fail' : 'deliver')
    await world.clock.until(holder.release())
    await world.clock.advance(200)
    world.wire.fate = () => 'deliver'
    const lease = await world.clock.until(waiting)
    expect(lease.remainingMs).toBeGreaterThanOrEqual(0.97 * 3000)
  })

  test('is released when its caller gives up before', async () => {
    const world = makeWorld()
    const holder = await world.direct().mutex('a').acquire()
    const waiting = world.client({ ttlMs: 3000, renew: false }).mutex('a').acquire({ waitMs: 1510 })
    const refused = waiting.catch((error: unknown) => error)
    await world.clock.advance(1500)
    world.wire.fate = (verb) => (verb === 'renew' ? 'hang' : 'deliver')
    await world.clock.until(holder.release())
    await world.clock.advance(20)
    expect(await refused).toMatchObject({ code: 'LOCK_TIMEOUT' })
    expect(await world.clock.until(world.direct().mutex('a').tryAcquire())).toBeDefined()
  })
})
