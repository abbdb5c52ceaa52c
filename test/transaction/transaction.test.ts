/**
 * A lock that covers a transaction until its commit, and the fence, through every client library.
 */
import { createLocks, type LockLostError, type Locks, type LocksOptions } from 'holdfast'
import { assertFence, type FenceTransaction } from 'holdfast/fence'
import { memoryStore } from 'holdfast/memory'
import { pgTransactions } from 'holdfast/transaction'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { mysqlKits, postgresKits, type KitClient } from './kits.js'

const kits = [...(await postgresKits()), ...(await mysqlKits())]
const open: Locks[] = []

afterEach(async () => {
  for (const locks of open.splice(0)) await locks.close({ graceMs: 0 })
})
afterAll(async () => {
  for (const kit of kits.toReversed()) await kit.end()
})

function locksOf({ store }: KitClient, options: LocksOptions = {}): Locks {
  const locks = createLocks(store, options)
  open.push(locks)
  return locks
}

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms))
}

describe.each(kits)('through $name', (kit) => {
  const table = `app_${kit.name}`
  const { db, store } = kit.client()
  const ask = (sql: string): Promise<readonly unknown[]> =>
    db.transaction((tx) => db.query(tx, sql, []))
  const count = async (): Promise<number> => {
    const [row] = await ask(`select count(*) as n from ${table}`)
    return Number((row as { n: unknown }).n)
  }
  const insert = (tx: FenceTransaction): Promise<unknown> =>
    db.query(tx, `insert into ${table} values (1)`, [])

  test('commits what the work did, and releases after that', async () => {
    kit.sql(`create table ${table} (n int)`)
    const locks = locksOf({ db, store })
    const lock = locks.mutex('commit')
    const result = await locks.transaction(lock, db, async (tx, lease) => {
      await insert(tx)
      expect(lease.held).toBe(true)
      expect(await locks.mutex('commit').tryAcquire()).toBeUndefined()
      return [Promise.resolve(7)]
    })
    expect(await result[0]).toBe(7)
    expect(await count()).toBe(1)
    expect(await (await lock.tryAcquire())?.release()).toBe('released')
  })

  test('keeps the lock until the commit: its lease is not exported', async () => {
    const locks = locksOf(kit.client())
    const before = await count()
    await locks.transaction(locks.mutex('exported'), db, async (tx, lease) => {
      await insert(tx)
      await expect(lease.export()).rejects.toMatchObject({ code: 'LOCK_USAGE', lock: 'exported' })
    })
    expect(await count()).toBe(before + 1)
  })

  test('rolls back when the work fails', async () => {
    const locks = locksOf(kit.client())
    const before = await count()
    const failing = locks.transaction(locks.mutex('fails'), db, async (tx) => {
      await insert(tx)
      throw new Error('no stock')
    })
    await expect(failing).rejects.toThrow('no stock')
    expect(await count()).toBe(before)
    expect(await locks.mutex('fails').tryAcquire()).toBeDefined()
  })

  test('rolls back when the lease is lost meanwhile', async () => {
    const locks = locksOf(kit.client(), { ttlMs: 600 })
    const before = await count()
    const robbed = locks.transaction(locks.mutex('robbed'), db, async (tx, lease) => {
      await insert(tx)
      await locks.steal('robbed', { reason: 'a test' })
      await new Promise((resolve) => lease.signal.addEventListener('abort', resolve))
    })
    const error = await robbed.catch((reason: unknown) => reason as LockLostError)
    expect(error).toMatchObject({ code: 'LOCK_LOST', reason: 'stolen' })
    expect(await count()).toBe(before)
  })

  test.each(['expires', 'is stolen at once'])(
    'the lease %s: no other client is granted the lock before the end',
    async (how) => {
      const [mine, other] = [locksOf(kit.client()), locksOf(kit.client())]
      const name = `covered ${how}`
      const before = await count()
      let seen: number | undefined
      let begun!: () => void
      const inside = new Promise<void>((resolve) => (begun = resolve))
      // Longer than a busy machine takes to begin the work, which lasts for longer.
      const lock = mine.mutex(name, { ttlMs: 800, renew: false })
      const working = mine.transaction(lock, db, async (tx) => {
        await insert(tx)
        if (how !== 'expires') {
          await other.steal(name, { now: true })
          // Also among several that are asked for in one turn.
          const both = [name, `beside ${name}`].map(async (one) => other.mutex(one).tryAcquire())
          const [covered, beside] = await Promise.all(both)
          expect(covered).toBeUndefined()
          expect(beside?.held).toBe(true)
        }
        begun()
        await pass(1000)
        expect(await other.mutex(name).tryAcquire()).toBeUndefined()
        expect(seen).toBeUndefined()
      })
      // A lease that ended before the work began fails here, and at once.
      await Promise.race([inside, working])
      const next = other.mutex(name).run(async () => (seen = await count()))
      const error: unknown = await working.catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code: 'LOCK_LOST' })
      // Rolled back, and only then seen by the next.
      expect(await next).toBe(before)
    },
  )

  test('a fixed lease stolen at once commits before the next client is granted the lock', async () => {
    const [mine, other] = [locksOf(kit.client()), locksOf(kit.client())]
    const before = await count()
    const lock = mine.mutex('unnoticed', { ttlMs: 60_000, renew: false })
    let next: Promise<number> | undefined
    let isWorking = true
    await mine.transaction(lock, db, async (tx, lease) => {
      const stolen = await other.steal('unnoticed', { now: true })
      expect(stolen).toEqual({ holders: 1, freeInMs: undefined, guarded: true })
      next = other.mutex('unnoticed').run(() => {
        expect(isWorking).toBe(false)
        return count()
      })
      next.catch(() => undefined)
      await pass(100)
      await insert(tx)
      // Only a renewal would find the steal, and a fixed lease has none.
      expect(lease.held).toBe(true)
      isWorking = false
    })
    expect(await next).toBe(before + 1)
  })

  test('a lease that was taken over before the transaction began writes nothing', async () => {
    const [mine, other] = [locksOf(kit.client()), locksOf(kit.client())]
    const lock = mine.mutex('late', { ttlMs: 60_000 })
    const before = await count()
    const slow: typeof db = {
      ...db,
      async transaction(work) {
        await other.steal('late', { now: true })
        await (await other.mutex('late').acquire()).release()
        return db.transaction(work)
      },
    }
    await expect(mine.transaction(lock, slow, insert)).rejects.toMatchObject({ code: 'LOCK_LOST' })
    expect(await count()).toBe(before)
  })

  test('a long transaction keeps its own lease and the others of the client', async () => {
    const locks = locksOf(kit.client(), { ttlMs: 600 })
    const bystander = await locks.mutex('bystander').acquire()
    await locks.transaction(locks.mutex('long'), db, async (tx, lease) => {
      await insert(tx)
      await pass(1500)
      expect([lease.held, bystander.held]).toEqual([true, true])
    })
    expect(await bystander.release()).toBe('released')
  })

  test.each(['commit', 'rollback'])(
    'a transaction that the work ended itself, by %s, rejects',
    async (how) => {
      const locks = locksOf(kit.client())
      const working = locks.transaction(locks.mutex('ended'), db, (tx) => db.query(tx, how, []))
      await expect(working).rejects.toMatchObject({ code: 'LOCK_USAGE', lock: 'ended' })
      expect(await (await locks.mutex('ended').tryAcquire())?.release()).toBe('released')
    },
  )

  test('who closes the locks waits for the commit, and not for the work alone', async () => {
    const locks = locksOf(kit.client())
    const before = await count()
    let closing: Promise<void> | undefined
    const slowly: typeof db = {
      ...db,
      transaction: (work) =>
        db.transaction(async (tx) => {
          const result = await work(tx)
          await pass(50) // as a COMMIT may take
          return result
        }),
    }
    const buying = locks.transaction(locks.mutex('closing'), slowly, async (tx, lease) => {
      await pass(1)
      closing = locks.close({ graceMs: 5000 })
      expect(lease.signal.aborted).toBe(true)
      await insert(tx)
      await pass(50)
      return 'bought'
    })
    expect(await buying).toBe('bought')
    await closing
    expect(await count()).toBe(before + 1)
  })

  test('a nested run that is not awaited keeps the lock until it ends', async () => {
    const locks = locksOf(kit.client())
    const lock = locks.mutex('nested', { reentrant: true })
    const next = locksOf(kit.client()).mutex('nested')
    let nested: Promise<unknown> = Promise.resolve()
    let seen: unknown = 'nothing'
    await locks.transaction(lock, db, async () => {
      nested = lock.run(async () => {
        await pass(150)
        seen = await next.tryAcquire()
      })
      await pass(10)
    })
    await nested
    expect(seen).toBeUndefined()
    expect(await (await next.tryAcquire())?.release()).toBe('released')
  })

  test('a statement that failed and was swallowed does not seem to commit', async () => {
    const locks = locksOf(kit.client())
    const before = await count()
    const working = locks.transaction(locks.mutex('swallowed'), db, async (tx) => {
      await insert(tx)
      await db.query(tx, 'select * from nowhere', []).catch(() => undefined)
    })
    // MySQL undoes only the statement, and continues.
    if (db.dialect === 'mysql') await working
    else await expect(working).rejects.toThrow('rolled the transaction back')
    expect(await count()).toBe(before + (db.dialect === 'mysql' ? 1 : 0))
  })

  test('no item is sold twice', async () => {
    const stock = `stock_${kit.name}`
    kit.sql(`create table ${stock} (amount int)`)
    await ask(`insert into ${stock} values (10)`)
    const clients = Array.from({ length: 3 }, () => kit.client())
    const buyers = clients.flatMap((client) => {
      const locks = locksOf(client)
      return Array.from({ length: 10 }, () =>
        locks.transaction(locks.mutex('stock'), client.db, async (tx) => {
          const [row] = await client.db.query(tx, `select amount from ${stock}`, [])
          const { amount } = row as { amount: number }
          if (amount === 0) return 0
          // Not "amount - 1" in SQL: the lock alone protects.
          await client.db.query(tx, `update ${stock} set amount = ${amount - 1}`, [])
          return 1
        }),
      )
    })
    const sold = await Promise.all(buyers)
    expect(sold.filter((one) => one === 1)).toHaveLength(10)
    expect(await ask(`select amount from ${stock}`)).toEqual([{ amount: 0 }])
  })

  test('refuses what is no lock of its store, before anything is taken', async () => {
    const locks = locksOf(kit.client())
    const elsewhere = createLocks(memoryStore())
    open.push(elsewhere)
    const several = locks.multi([locks.mutex('m1'), locks.mutex('m2')])
    for (const lock of [elsewhere.mutex('strange'), 'a name', undefined, several]) {
      const covering = locks.transaction(lock as never, db, insert)
      await expect(covering).rejects.toMatchObject({ code: 'LOCK_USAGE' })
    }
    expect((await elsewhere.inspect()).locks).toEqual([])
    expect((await locks.inspect({ prefix: 'm' })).locks).toEqual([])
  })

  test('refuses leases that others may share', async () => {
    const locks = locksOf(kit.client())
    for (const lock of [
      locks.semaphore('shared', { permits: 2 }),
      locks.readWriteLock('read').read,
    ]) {
      await expect(locks.transaction(lock, db, insert)).rejects.toMatchObject({
        code: 'LOCK_USAGE',
      })
    }
    await expect(locks.transaction(locks.mutex('m'), {} as typeof db, insert)).rejects.toThrow(
      'pgTransactions',
    )
  })

  test.each(['coverTransaction', 'requireStoreRelease', 'whenCallbacksSettled'])(
    'refuses a wrapped lease without %s, and releases it',
    async (missing) => {
      const locks = locksOf(kit.client())
      const mutex = locks.mutex('wrapped')
      const wrapped = {
        name: 'wrapped',
        async acquire() {
          const lease = await mutex.acquire()
          const get = (_target: object, name: string | symbol): unknown => {
            const value: unknown = name === missing ? undefined : Reflect.get(lease, name, lease)
            return typeof value === 'function' ? (value.bind(lease) as unknown) : value
          }
          return new Proxy({}, { get })
        },
      }
      const before = await count()
      const refused = locks.transaction(wrapped as never, db, insert)
      await expect(refused).rejects.toMatchObject({
        code: 'LOCK_USAGE',
        message: expect.stringContaining(`lacks ${missing}`) as string,
      })
      expect(await count()).toBe(before)
      expect(await (await mutex.tryAcquire())?.release()).toBe('released')
    },
  )

  test('a fence lets tokens only grow', async () => {
    const locks = locksOf(kit.client())
    const resource = `"it's" a 🔒 resource`
    const early = await locks.mutex('fenced').acquire()
    await db.transaction((tx) => assertFence(tx, early, resource))
    await db.transaction((tx) => assertFence(tx, early, resource))
    await early.release()
    const late = await locks.mutex('fenced').acquire()
    // What is rolled back was not seen.
    const undone = db.transaction(async (tx) => {
      await assertFence(tx, late, resource)
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    await db.transaction((tx) => assertFence(tx, early, resource))
    await db.transaction((tx) => assertFence(tx, late, resource))
    const stale = db.transaction(async (tx) => {
      await insert(tx)
      await assertFence(tx, early, resource)
    })
    await expect(stale).rejects.toMatchObject({ code: 'STALE_TOKEN' })
    const impostor = {
      name: late.name,
      token: late.token,
      claimId: 'impostor',
      exclusive: true,
    } as never
    await expect(db.transaction((tx) => assertFence(tx, impostor, resource))).rejects.toMatchObject(
      {
        code: 'STALE_TOKEN',
      },
    )
    await db.transaction((tx) => assertFence(tx, late, resource))
    await db.transaction((tx) => assertFence(tx, early, 'another resource'))
  })

  test('a fence accepts an adopter, and refuses the exporter from then on', async () => {
    const [exporter, adopter] = [locksOf(kit.client()), locksOf(kit.client())]
    const resource = 'passed on'
    const lease = await exporter.mutex('passed on').acquire()
    await db.transaction((tx) => assertFence(tx, lease, resource))
    const handle = await lease.export()
    await db.transaction((tx) => assertFence(tx, lease, resource))
    const adopted = await adopter.mutex('passed on').adopt(handle)
    await db.transaction((tx) => assertFence(tx, adopted, resource))
    const late = db.transaction((tx) => assertFence(tx, lease, resource))
    await expect(late).rejects.toMatchObject({ code: 'STALE_TOKEN' })
    await db.transaction((tx) => assertFence(tx, adopted, resource))
    expect(await adopted.release()).toBe('released')
  })

  test('an adopter waits until a transaction that covers the lease has ended', async () => {
    const client = kit.client()
    const [exporter, adopter] = [locksOf(client), locksOf(kit.client())]
    const lease = await exporter.mutex('covered and passed on').acquire()
    const guard = client.store.transactionGuard!
    const covered = { lock: lease.name, id: lease.claimId, token: String(lease.token) }
    expect(await guard.prepare(covered)).toBe(true)
    const ended: string[] = []
    let end!: () => void
    let begun!: (value: unknown) => void
    const isBegun = new Promise((resolve) => (begun = resolve))
    const committing = db.transaction(async (tx) => {
      begun(await guard.begin((sql, values) => db.query(tx, sql, values), covered))
      await new Promise<void>((resolve) => (end = resolve))
      ended.push('transaction')
    })
    expect(await isBegun).toBe(true)
    const handle = await lease.export()
    const adopting = adopter.mutex('covered and passed on').adopt(handle)
    const noted = adopting.then(() => ended.push('adoption'))
    await pass(300)
    end()
    await committing
    await noted
    expect(ended).toEqual(['transaction', 'adoption'])
    // A transaction of the exporter that begins only now is refused.
    const late = db.transaction((tx) =>
      guard.begin((sql, values) => db.query(tx, sql, values), covered),
    )
    expect(await late).toBe(false)
    expect(await (await adopting).release()).toBe('released')
  })

  test('a fence refuses leases that others may share', async () => {
    const locks = locksOf(kit.client())
    const reader = await locks.readWriteLock('read').read.acquire()
    const fenced = db.transaction((tx) => assertFence(tx, reader, 'resource'))
    await expect(fenced).rejects.toMatchObject({ code: 'LOCK_USAGE' })
  })
})

test('a client of pg is no pool, and is refused before anything is written', async () => {
  const statements: unknown[] = []
  const client = {
    connect: (lent: (error: undefined, client: unknown) => void) => lent(undefined, client),
    query: (text: string) => Promise.resolve({ rows: statements.push(text) }),
  }
  const working = pgTransactions(client as never).transaction(() => Promise.resolve('committed'))
  await expect(working).rejects.toThrow('a pool of pg, and not a single client')
  expect(statements).toEqual([])
})

test('a statement that commits by itself rejects, on MySQL', async () => {
  const { db, store } = kits.find(({ name }) => name === 'mysql2')!.client()
  const locks = createLocks(store)
  open.push(locks)
  const working = locks.transaction(locks.mutex('committed'), db, (tx) =>
    db.query(tx, 'create table side (n int)', []),
  )
  await expect(working).rejects.toThrow('CREATE TABLE')
})

test('a lock in one database cannot cover a transaction in another', async () => {
  const [first, last] = [kits[0]!.client(), kits.at(-1)!.client()]
  const locks = createLocks(first.store)
  open.push(locks)
  const refused = locks.transaction(locks.mutex('m'), last.db, () => Promise.resolve())
  await expect(refused).rejects.toMatchObject({ code: 'LOCK_USAGE' })
})

test('a store outside of a database rejects with UNSUPPORTED', async () => {
  const locks = createLocks(memoryStore())
  const db = kits[0]!.client().db
  const refused = locks.transaction(locks.mutex('m'), db, () => Promise.resolve())
  await expect(refused).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  await locks.close()
})
