/** The rows of long unused locks and of past slots are deleted, and tokens still grow. */
import { afterAll, describe, expect, test } from 'vitest'
import { claim, startKits, tokenOf } from './kits.js'

const DAY_MS = 86_400_000
const NOW_MS = 1_700_000_000_000

function slot(second: number, schedule = 'job'): string {
  return `${schedule}@tick:2027-01-31T03:00:${String(second).padStart(2, '0')}Z`
}

const { kits, stop } = await startKits()
afterAll(stop)

describe.each(kits)(
  '$name',
  ({ store, prefix, sharing, setClock, ask, purge, connect, blocked }) => {
    const attempt = async (lock: string, id: string, ttlMs?: number): Promise<bigint> =>
      tokenOf(await store.attempt(claim(lock, id, ttlMs), { enqueue: false, tokens: 33 }))
    const slots = (): string[] => names().filter((name) => name.includes('@tick:'))
    const names = (): string[] => ask(`select name from ${prefix}locks order by name`).split('\n')

    test('what was not used for long goes; what is held, guarded by a transaction, or was used lately stays', async () => {
      await setClock(NOW_MS)
      const old = await attempt('old', 'a')
      await store.withdraw(claim('old', 'a'))
      await attempt('held', 'b', 30 * DAY_MS)
      await attempt('covered', 'c', 30 * DAY_MS)
      await store.transactionGuard?.prepare({ lock: 'covered', id: 'c' })
      const transaction = await connect()
      await transaction.run('begin')
      await transaction.run(`select name from ${prefix}guards where name = 'covered' ${sharing}`)
      await store.withdraw(claim('covered', 'c'))
      await setClock(NOW_MS + 8 * DAY_MS)
      await attempt('late', 'd')
      await store.withdraw(claim('late', 'd'))

      expect(purge(9)).toBe(0)
      expect(purge(7)).toBe(1)
      expect(names()).toEqual(['covered', 'held', 'late'])
      await transaction.run('rollback')
      transaction.end()
      expect(purge(7)).toBe(1)
      expect(names()).toEqual(['held', 'late'])
      expect(ask(`select count(*) from ${prefix}guards`)).toBe('0')

      expect(await attempt('old', 'e')).toBeGreaterThan(old)
      expect(await store.attempt(claim('held', 'f'), { enqueue: false, tokens: 1 })).toMatchObject({
        outcome: 'busy',
      })
    })

    test('a lock goes whose lease ended, and which no request has asked for since', async () => {
      await setClock(NOW_MS)
      const crashed = await attempt('crashed', 'a')
      await attempt('beside', 'a')
      await store.attempt(claim('beside', 'b'), { enqueue: true, tokens: 1 })
      await setClock(NOW_MS + 8 * DAY_MS)
      purge(7)
      expect(names()).not.toContain('crashed')
      expect(names()).not.toContain('beside')
      expect(names()).toContain('held')
      expect(await attempt('crashed', 'c')).toBeGreaterThan(crashed)
    })

    test('an attempt on a slot deletes earlier ones of its schedule that are over', async () => {
      const others = ['a@tick:2027', 'job', 'job@tick:', 'job@tick:1', slot(1, 'zoo')]
      await setClock(NOW_MS)
      for (const name of others) await attempt(name, 'a')
      for (let second = 0; second < 30; second += 1) await attempt(slot(second), 'a', 5_000)
      expect(slots()).toHaveLength(34)
      await store.attempt(claim(slot(29), 'late'), { enqueue: false, tokens: 1 })
      expect(slots()).toHaveLength(34)
      await setClock(NOW_MS + 5_001)
      // Several slots, and other locks, travel in one request.
      await Promise.all([attempt(slot(31), 'b', 5_000), attempt(slot(30), 'b', 5_000)])
      for (let second = 32; second < 40; second += 1) await attempt(slot(second), 'b', 5_000)
      const kept = Array.from({ length: 10 }, (_, at) => slot(30 + at))
      expect(slots()).toEqual([...others.filter((name) => name.includes('@')), ...kept].toSorted())
      // The slots that are taken stay so.
      for (const name of kept)
        expect(await store.attempt(claim(name, 'c'), { enqueue: false, tokens: 1 })).toMatchObject({
          outcome: 'busy',
        })
    })

    test('a session that waits for a row that is deleted inserts it again', async () => {
      await setClock(NOW_MS)
      const before = await attempt('raced', 'a')
      await store.withdraw(claim('raced', 'a'))
      await setClock(NOW_MS + 8 * DAY_MS)
      const purging = await connect()
      await purging.run('begin')
      await purging.run(`delete from ${prefix}locks where name = 'raced'`)
      const granted = attempt('raced', 'b')
      await expect.poll(blocked, { timeout: 5000, interval: 200 }).toBe(1)
      await purging.run('commit')
      purging.end()
      expect(await granted).toBeGreaterThan(before)
      expect(await store.attempt(claim('raced', 'c'), { enqueue: false, tokens: 1 })).toMatchObject(
        {
          outcome: 'busy',
        },
      )
    })

    test('a row that is missing is made in one turn with one that is there', async () => {
      await setClock(NOW_MS)
      const before = await attempt('there', 'a')
      await store.withdraw(claim('there', 'a'))
      const [missing, there] = await Promise.all([attempt('missing', 'b'), attempt('there', 'b')])
      expect(missing).toBeGreaterThan(0n)
      expect(there).toBeGreaterThan(before)
      for (const lock of ['missing', 'there']) {
        const refused = await store.attempt(claim(lock, 'c'), { enqueue: false, tokens: 1 })
        expect(refused).toMatchObject({ outcome: 'busy' })
      }
    })

    test('a row that another session has locked stays, and less than a day is refused', async () => {
      await setClock(NOW_MS)
      await attempt('taken', 'a')
      await store.withdraw(claim('taken', 'a'))
      await setClock(NOW_MS + 90 * DAY_MS)
      const other = await connect()
      await other.run('begin')
      await other.run(`select name from ${prefix}locks where name = 'taken' for update`)
      purge(80)
      expect(names()).toContain('taken')
      await other.run('rollback')
      other.end()
      purge(80)
      expect(names()).not.toContain('taken')
      expect(() => purge(0.5)).toThrow('a day at least')
    })
  },
)
