/**
 * A FIFO queue: served in the order of the store. A grant is handed off only where no claim stands
 * between.
 */
import { onLockEvent, type Lease, type Locks } from 'holdfast'
import type { Claim } from 'holdfast/store'
import { describe, expect, test } from 'vitest'
import { makeWorld, outcomeOf, type World } from '../../support/world.js'

/** Queues callers, one after the other, each named by its client and a number: `a1 a2 b1`. */
async function queueUp(world: World, clients: Record<string, Locks>, callers: string) {
  const served: { readonly name: string; readonly lease: Lease }[] = []
  for (const name of callers.split(' ')) {
    const locks = clients[name[0] as string] as Locks
    void locks
      .mutex('a')
      .acquire()
      .then((lease) => served.push({ name, lease }))
    await world.clock.advance(5)
  }
  return served
}

function strictClients(world: World): Record<string, Locks> {
  return { a: world.client({ fairness: 'fifo' }), b: world.client({ fairness: 'fifo' }) }
}

/**
 * Lets each caller have its turn and gives who had it, with a `+` when it was handed on inside the
 * process.
 */
async function turns(world: World, served: Awaited<ReturnType<typeof queueUp>>): Promise<string[]> {
  const handed = new Set<bigint>()
  const stop = onLockEvent('handed-off', ({ token }) => handed.add(token))
  const order: string[] = []
  for (let turn = 0; served[turn]; turn += 1) {
    const { name, lease } = served[turn] as (typeof served)[number]
    order.push(handed.has(lease.token) ? `${name}+` : name)
    await world.clock.until(lease.release())
    await world.clock.advance(3)
  }
  stop()
  return order
}

/**
 * Several callers of client `a`, each of which takes the lock twice in a row, behind `b0` and
 * before `b1`.
 */
async function comingBack(world: World, size: number) {
  const { a, b } = strictClients(world) as { a: Locks; b: Locks }
  const first = await world.clock.until(b.mutex('a').acquire())
  const order: string[] = []
  const note = (name: string) => (): void => void order.push(name)
  const all = Array.from({ length: size }, async (_, number) => {
    for (const round of [1, 2]) await a.mutex('a').run(note(`a${number} ${round}`))
  })
  await world.clock.advance(5)
  // Long enough for the others to be in the queue again.
  const tenMs = (): Promise<void> => new Promise((resolve) => void world.clock.timer(10, resolve))
  all.push(b.mutex('a').run(() => tenMs().then(note('b1'))))
  await world.clock.advance(5)
  return { a, b, first, order, all: Promise.all(all) }
}

const NO_LEASE = Promise.reject(new Error('no lease'))
NO_LEASE.catch(() => undefined)

describe('a strict queue', () => {
  test('hands off to the next claim in the queue, and passes none', async () => {
    const world = makeWorld()
    const served = await queueUp(world, strictClients(world), 'b0 a1 a2 a3 a4 b5 a6 b7 b8 b9')
    // The first two of a client get no block of tokens: when they ask, no other caller of it waits.
    const order = ['b0', 'a1', 'a2', 'a3+', 'a4+', 'b5', 'a6', 'b7', 'b8+', 'b9+']
    expect(await turns(world, served)).toEqual(order)
  })

  test('gives each lease in a row a larger token of its own', async () => {
    const world = makeWorld()
    const served = await queueUp(world, strictClients(world), 'b0 a1 a2 a3 b4 a5')
    await turns(world, served)
    const tokens = served.map(({ lease }) => lease.token)
    expect(tokens).toEqual(tokens.toSorted((one, other) => (one < other ? -1 : 1)))
    expect(new Set(tokens).size).toBe(6)
  })

  test('goes past who gave up, through the store', async () => {
    const world = makeWorld()
    const clients = strictClients(world)
    const served = await queueUp(world, clients, 'b0 a1')
    const quits = clients['a']
      ?.mutex('a')
      .acquire({ waitMs: 50 })
      .catch(() => 'quit')
    await world.clock.advance(5)
    const more = await queueUp(world, clients, 'a3')
    expect(await world.clock.until(quits ?? NO_LEASE)).toBe('quit')
    expect(await turns(world, served)).toEqual(['b0', 'a1'])
    expect(await turns(world, more)).toEqual(['a3'])
  })

  test('asks the store for nothing when it hands on but to forget the claim of who is served', async () => {
    const world = makeWorld()
    const served = await queueUp(world, strictClients(world), 'b0 a1 a2 a3 a4')
    for (let turn = 0; turn < 3; turn += 1) {
      await world.clock.until(served[turn]?.lease.release() ?? NO_LEASE)
      await world.clock.advance(3)
    }
    world.wire.sent.length = 0
    expect(await served[3]?.lease.release()).toBe('released')
    await world.clock.advance(3)
    expect(served[4]?.lease.held).toBe(true)
    expect(world.wire.sent.map(({ verb }) => verb)).toEqual(['withdraw'])
  })

  test('leaves nothing behind', async () => {
    const world = makeWorld()
    const clients = strictClients(world)
    const served = await queueUp(world, clients, 'b0 a1 a2 a3')
    await turns(world, served)
    expect((await world.clock.until((clients['a'] as Locks).inspect())).locks).toEqual([])
  })

  test('does not hand on a lease of another TTL, nor one that is not renewed', async () => {
    const world = makeWorld()
    const { a, b } = strictClients(world) as { a: Locks; b: Locks }
    const first = await world.clock.until(b.mutex('a').acquire())
    const order: string[] = []
    const tokens = new Set<unknown>()
    const stop = onLockEvent('handed-off', ({ token }) => tokens.add(token))
    for (const options of [{}, { ttlMs: 7000 }, { renew: false }, {}]) {
      void a.mutex('a', options).run(() => void order.push(JSON.stringify(options)))
      await world.clock.advance(5)
    }
    await world.clock.until(first.release())
    await world.clock.advance(50)
    stop()
    expect(order).toEqual(['{}', '{"ttlMs":7000}', '{"renew":false}', '{}'])
    expect(tokens.size).toBe(0)
  })

  test('keeps those together who come back together, the last of the row as well', async () => {
    const world = makeWorld()
    const { b, first, order, all } = await comingBack(world, 4)
    let handed = 0
    let other: Promise<void> | undefined
    const stop = onLockEvent('handed-off', () => {
      handed += 1
      // Comes while the release at the end of the first row is on its way.
      if (handed !== 2) return
      world.clock.timer(1, () => {
        other = b.mutex('a').run(() => void order.push('b2'))
      })
    })
    await world.clock.until(first.release())
    await world.clock.until(all)
    await world.clock.until(other ?? NO_LEASE)
    stop()
    expect(order.slice(0, 5)).toEqual(['a0 1', 'a1 1', 'a2 1', 'a3 1', 'b1'])
    expect(order.indexOf('a3 2') - order.indexOf('a1 2')).toBe(3)
    // The first one had no block of tokens; then they are one row.
    expect(handed).toBe(2 + 3)
  })

  test('holds callers back during a row until the store has answered or timed out', async () => {
    const world = makeWorld()
    const { first, order, all, b } = await comingBack(world, 3)
    // The release at the end of the row never arrives.
    let lastOfRow: unknown
    const stop = onLockEvent('handed-off', ({ claimId }) => (lastOfRow = claimId))
    world.wire.fate = (verb, argument) =>
      verb === 'withdraw' && (argument as Claim).id === lastOfRow ? 'hang' : 'deliver'
    await world.clock.until(first.release())
    await world.clock.until(all)
    stop()
    expect(order.slice(0, 4)).toEqual(['a0 1', 'a1 1', 'a2 1', 'b1'])
    expect(order.slice(4).toSorted()).toEqual(['a0 2', 'a1 2', 'a2 2'])
    expect((await world.clock.until(b.inspect())).locks).toEqual([])
  })

  test('lets go who gives up, or is closed, before it could ask', async () => {
    const world = makeWorld()
    const { a } = strictClients(world) as { a: Locks }
    const served = await queueUp(world, { a }, 'a0 a1 a2 a3')
    for (const turn of [0, 1]) {
      await world.clock.until((served[turn] as (typeof served)[number]).lease.release())
      await world.clock.advance(5)
    }
    const controller = new AbortController()
    // The grant is handed off, so both of these are held back.
    void served[2]?.lease.release()
    const aborted = outcomeOf(a.mutex('a').acquire({ signal: controller.signal }))
    const closed = outcomeOf(a.mutex('a').acquire())
    const sent = world.wire.sent.length
    controller.abort(new Error('enough'))
    const closing = a.close({ graceMs: 0 })
    expect(await aborted).toEqual({ error: new Error('enough') })
    expect(await closed).toMatchObject({ error: { code: 'LOCKS_CLOSED' } })
    await world.clock.until(closing)
    await world.clock.advance(5)
    expect(world.wire.sent.slice(sent).map(({ verb }) => verb)).not.toContain('attempt')
  })
})
