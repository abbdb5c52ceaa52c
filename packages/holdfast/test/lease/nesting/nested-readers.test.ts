/** Re-entrancy of readers-writer locks: readers inside of readers and of writers. */
import type { Locks } from 'holdfast'
import { describe, expect, test } from 'vitest'
import { deferred, makeWorld, outcomeOf } from '../../support/world.js'

function setUp(): { locks: Locks; world: ReturnType<typeof makeWorld> } {
  const world = makeWorld()
  return { locks: world.direct(), world }
}

describe('readers and writers', () => {
  test('nested reads re-enter, siblings included, past a waiting writer', async () => {
    const { locks, world } = setUp()
    const lock = locks.readWriteLock('c')
    const order: string[] = []
    const reading = lock.read.run(async () => {
      const writing = locks.detached(() => lock.write.run(() => void order.push('write')))
      await Promise.all([
        lock.read.run(() => void order.push('read')),
        lock.read.run(() => void order.push('read')),
      ])
      return { writing }
    })
    const { writing } = await world.clock.until(reading)
    await world.clock.until(writing)
    expect(order).toEqual(['read', 'read', 'write'])
  })

  test('a reader is not upgraded', async () => {
    const { locks } = setUp()
    const lock = locks.readWriteLock('c', { reentrant: true })
    const outcome = await outcomeOf(lock.read.run(() => lock.write.run(() => undefined)))
    expect(outcome).toMatchObject({ error: { code: 'LOCK_USAGE' } })
  })

  test('a read inside of a write enters under the lease of the writer, at no cost in the store', async () => {
    const world = makeWorld()
    const lock = world.client().readWriteLock('c')
    const tokens = await world.clock.until(
      lock.write.run((writer) => lock.read.run((reader) => [writer.token, reader.token])),
    )
    expect(tokens[0]).toBe(tokens[1])
    expect(world.wire.sent.map(({ verb }) => verb)).toEqual(['attempt', 'withdraw'])
  })

  test('a read inside of a mutex of its name enters, too', async () => {
    const { locks } = setUp()
    const { read } = locks.readWriteLock('c')
    expect(await locks.mutex('c').run(() => read.run(() => 'read'))).toBe('read')
  })

  test('a read inside of a write through a multi-lock enters, and the multi-lock releases only the rest', async () => {
    const { locks, world } = setUp()
    const lock = locks.readWriteLock('c')
    const other = world.direct()
    const free = async (name: string): Promise<boolean> =>
      (await other.mutex(name).tryAcquire()) !== undefined
    const outcome = await lock.write.run(async () => {
      const held = await locks.multi([lock.read, locks.mutex('d')]).run(({ held: all }) => all)
      return { held, c: await free('c'), d: await free('d') }
    })
    expect(outcome).toEqual({ held: true, c: false, d: true })
  })

  test('a read inside of a write of another client of the store is a deadlock', async () => {
    const { locks, world } = setUp()
    const { write } = locks.readWriteLock('c')
    const { read } = world.direct().readWriteLock('c')
    const nested = write.run(() => outcomeOf(read.run(() => 'read', { waitMs: 100 })))
    expect(await world.clock.until(nested)).toMatchObject({ error: { code: 'DEADLOCK' } })
  })

  test('a nested acquire of a read inside of a write is refused', async () => {
    const { locks } = setUp()
    const lock = locks.readWriteLock('c')
    const outcome = await outcomeOf(lock.write.run(() => lock.read.acquire()))
    expect(outcome).toMatchObject({
      error: { code: 'LOCK_USAGE', message: expect.stringContaining('Use run') },
    })
  })

  test('a write inside of a read inside of a write is refused as an upgrade, also through lease.run', async () => {
    const { locks } = setUp()
    const { read, write } = locks.readWriteLock('c', { reentrant: true })
    const refused = {
      error: { code: 'LOCK_USAGE', message: expect.stringContaining('cannot become a writer') },
    }
    const nested = await outcomeOf(write.run(() => read.run(() => write.run(() => 'never'))))
    expect(nested).toMatchObject(refused)
    const indirect = write.run((writer) =>
      read.run(() => writer.run(() => write.run(() => 'never'))),
    )
    expect(await outcomeOf(indirect)).toMatchObject(refused)
    expect(await write.tryAcquire()).toBeDefined()
  })

  test('reads inside of a write share it, and take turns with nested writes in the order of the calls', async () => {
    const { locks } = setUp()
    const { read, write } = locks.readWriteLock('c', { reentrant: true })
    const inside = new Set<string>()
    const seen: string[] = []
    const job = (name: string) => async (): Promise<void> => {
      inside.add(name)
      await new Promise((resolve) => void setImmediate(resolve))
      seen.push([...inside].join('+'))
      inside.delete(name)
    }
    await write.run(() =>
      Promise.all([
        read.run(job('r1')),
        read.run(job('r2')),
        write.run(job('w')),
        read.run(job('r3')),
        read.run(job('r4')),
      ]),
    )
    expect(seen).toEqual(['r1+r2', 'r2', 'w', 'r3+r4', 'r4'])
  })

  test('a nested write that gives up its turn lets the reads behind it start', async () => {
    const { locks, world } = setUp()
    const { read, write } = locks.readWriteLock('c', { reentrant: true })
    const gate = deferred()
    const nested = write.run(async () => {
      const reading = read.run(() => gate.promise)
      const writing = outcomeOf(write.run(() => 'too late', { waitMs: 100 }))
      const later = await read.run(() => 'read')
      gate.resolve()
      await reading
      return [await writing, later]
    })
    const [writing, later] = (await world.clock.until(nested)) as unknown[]
    expect(writing).toMatchObject({ error: { code: 'LOCK_TIMEOUT' } })
    expect(later).toBe('read')
  })

  test('a read inside of a write that continues keeps the write', async () => {
    const { locks, world } = setUp()
    const lock = locks.readWriteLock('c')
    const gate = deferred()
    const outer = lock.write.run(() => void lock.read.run(() => gate.promise))
    const other = world.direct().readWriteLock('c')
    await world.clock.advance(5)
    expect(await other.read.tryAcquire()).toBeUndefined()
    gate.resolve()
    await outer
    expect(await other.read.tryAcquire()).toBeDefined()
  })

  test('a writer that is downgraded under a nested read lets other readers in, and the read continues', async () => {
    const { locks, world } = setUp()
    const lock = locks.readWriteLock('c')
    const other = world.direct().readWriteLock('c')
    const outcome = await lock.write.run((writer) =>
      lock.read.run(async (reader) => {
        await writer.downgrade()
        return { held: reader.held, other: (await other.read.tryAcquire()) !== undefined }
      }),
    )
    expect(outcome).toEqual({ held: true, other: true })
  })

  test('writers that wait for their turn are refused when the lease became a reader meanwhile', async () => {
    const { locks, world } = setUp()
    const { write } = locks.readWriteLock('c', { reentrant: true })
    const all = deferred()
    let written = 0
    const nested = write.run((lease) => {
      const first = write.run(() => all.promise.then(() => lease.downgrade()))
      const later = [1, 2].map(() => write.run(() => (written += 1)))
      all.resolve()
      return Promise.all([first, ...later].map((one) => outcomeOf<unknown>(one)))
    })
    const refused = { error: { code: 'LOCK_USAGE', lock: 'c' } }
    expect(await world.clock.until(nested)).toMatchObject([{ value: undefined }, refused, refused])
    expect(written).toBe(0)
  })

  test('a writer that was downgraded shares with other readers', async () => {
    const { locks } = setUp()
    const lock = locks.readWriteLock('c')
    const lease = await lock.write.acquire()
    expect(await lock.read.tryAcquire()).toBeUndefined()
    await lease.downgrade()
    const reader = await lock.read.tryAcquire()
    expect(reader).toBeDefined()
    expect(await lease.release()).toBe('released')
  })
})

test('a reader that acquires once more in its own run is refused: behind a writer it would wait for itself', async () => {
  const { locks } = setUp()
  const lock = locks.readWriteLock('c')
  const nested = lock.read.run(async () => lock.read.acquire())
  expect(await outcomeOf(nested)).toMatchObject({ error: { code: 'LOCK_USAGE', lock: 'c' } })
})
