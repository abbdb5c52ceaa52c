/**
 * The connection of a transaction is in its hands alone, until its end and not longer, through
 * every library.
 */
import { createLocks, type Locks } from 'holdfast'
import type { SqlTransaction } from 'holdfast/transaction'
import { afterAll, describe, expect, test } from 'vitest'
import { adapterKits } from './adapters.js'
import { mysqlKits, POOL, postgresKits } from './kits.js'

const kits = [...(await postgresKits()), ...(await mysqlKits()), ...(await adapterKits())]
const open: Locks[] = []

afterAll(async () => {
  for (const locks of open) await locks.close({ graceMs: 0 })
  for (const kit of kits.toReversed()) await kit.end()
})

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms))
}

describe.each(kits)('through $name', async (kit) => {
  const { db, store } = await kit.client()
  const mysql = db.dialect === 'mysql'
  const table = `written_${kit.name}`
  const locks = createLocks(store)
  open.push(locks)
  const write = (tx: SqlTransaction, what: string): Promise<unknown> =>
    db.query(tx, `insert into ${table} values ('${what}')`, [])
  const written = async (): Promise<unknown[]> => {
    const rows = await db.transaction((tx) => db.query(tx, `select what from ${table}`, []))
    return rows.map((row) => (row as { what: unknown }).what)
  }

  /**
   * Runs `inside` while every connection of the pool is in a transaction, which is committed
   * afterwards.
   */
  async function whileAllAreTaken(inside: () => Promise<unknown>): Promise<void> {
    let taken = 0
    let takenAll!: () => void
    const all = new Promise<void>((resolve) => (takenAll = resolve))
    let done: Promise<unknown> | undefined
    const one = async (): Promise<void> => {
      taken += 1
      if (taken === POOL) takenAll()
      await all
      await (done ??= inside())
    }
    await Promise.all(Array.from({ length: POOL }, () => db.transaction(one)))
  }

  test.each(['resolves', 'rejects'])(
    'a statement that comes after the work %s is refused, and is in no other transaction',
    async (outcome) => {
      kit.sql(`create table if not exists ${table} (what varchar(40))`)
      let ended: SqlTransaction | undefined
      const working = locks.transaction(locks.mutex('late'), db, async (tx) => {
        ended = tx
        await Promise.resolve()
        if (outcome === 'rejects') throw new Error('no stock')
      })
      if (outcome === 'rejects') await expect(working).rejects.toThrow('no stock')
      else await working
      await whileAllAreTaken(() => expect(write(ended!, 'late')).rejects.toBeInstanceOf(Error))
      expect(await written()).toEqual([])
    },
  )

  test('a connection that breaks between two statements rejects, and leaves the process and the pool alive', async () => {
    const broken = locks.transaction(locks.mutex('broken'), db, async (tx) => {
      await write(tx, 'before')
      const id = mysql ? 'connection_id()' : 'pg_backend_pid()::text'
      const [row] = (await db.query(tx, `select ${id} as id`, [])) as { id: unknown }[]
      kit.sql(mysql ? `kill ${String(row?.id)}` : `select pg_terminate_backend(${String(row?.id)})`)
      await pass(100)
    })
    await expect(broken).rejects.toBeInstanceOf(Error)
    expect(await written()).toEqual([])
    expect(await (await locks.mutex('broken').acquire({ waitMs: 2000 })).release()).toBe('released')
    await whileAllAreTaken(() => Promise.resolve())
  })
})

describe.each(kits.filter(({ name }) => name === 'pg' || name === 'mysql2'))(
  'through $name',
  async (kit) => {
    const { db, store } = await kit.client()
    const locks = createLocks(store)
    open.push(locks)

    test('the work cannot give its connection back', async () => {
      const own = locks.transaction(locks.mutex('released'), db, async (tx) => {
        ;(tx as unknown as { release(): void }).release()
      })
      await expect(own).rejects.toMatchObject({
        code: 'LOCK_USAGE',
        message: expect.stringContaining('release()') as string,
      })
    })
  },
)
