/**
 * Databases whose routines are not those of this version. A migration creates the missing ones, and
 * replaces a routine whose text has changed under its name.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { migrateMysql, mysqlSchema, mysqlStore } from 'holdfast/mysql'
import { migratePostgres, postgresSchema, postgresStore } from 'holdfast/postgres'
import type { Store } from 'holdfast/store'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { startPostgres } from '@holdfast/servers/postgres'
import { migrate as migrateWithin } from '../../dist/stores/mysql/connection/migrate.js'
import { ROUTINES } from '../../dist/stores/mysql/rule/routines.js'
import { makeClaim, TRY } from '../redis/support/world.js'

const [postgres, mysql] = await Promise.all([startPostgres(), startMysql()])
const pgPool = new Pool({ connectionString: postgres.url, max: 4 })
pgPool.on('error', () => undefined)
const mysqlPool = createPool({ uri: mysql.url, connectionLimit: 4 })

afterAll(async () => {
  await Promise.all([pgPool.end(), mysqlPool.end()])
  await Promise.all([postgres.remove(), mysql.remove()])
})

const KITS = [
  {
    name: 'postgres',
    sql: (text: string): string => postgres.psql(text),
    schema: postgresSchema(),
    store: (autoMigrate: boolean): Store => postgresStore({ pool: pgPool, autoMigrate }),
    migrate: () => migratePostgres(pgPool),
    routines: `select string_agg(proname, ' ' order by proname) from pg_proc
      where pronamespace = 'holdfast'::regnamespace`,
    missing: 'drop function holdfast.apply_batch_v1(jsonb);',
    /** Changes the text of a routine under its name. */
    changed: `create or replace function holdfast.inspect_v1(a_request jsonb, a_now timestamptz) returns jsonb
      language plpgsql as $$ begin return '{"holders": [], "waiters": []}'; end $$;`,
  },
  {
    name: 'mysql',
    sql: (text: string): string => mysql.sql(text),
    schema: mysqlSchema(),
    store: (autoMigrate: boolean): Store => mysqlStore({ pool: mysqlPool, autoMigrate }),
    migrate: () => migrateMysql(mysqlPool),
    routines: `select group_concat(routine_name order by routine_name separator ' ')
      from information_schema.routines where routine_schema = database()`,
    missing: 'drop procedure holdfast_apply_one_v1;',
    changed: `drop procedure holdfast_inspect_v1;
      delimiter //
      create procedure holdfast_inspect_v1(a_request longtext, a_now bigint, out a_answer longtext)
      begin set a_answer = '{"holders": [], "waiters": []}'; end//
      delimiter ;
      update holdfast_facts set value = 'of another version' where name = 'procedure inspect_v1';`,
  },
]

/** Resolves to whether the inspected holder of a new lock is the one that took it. */
async function holds(one: Store): Promise<unknown> {
  const claim = makeClaim(`held ${Math.random()}`)
  await one.attempt(claim, TRY)
  const [info] = await one.inspect([claim.lock])
  return info?.holders.map(({ claimId }) => claimId === claim.id)
}

describe.each(KITS)('on $name', ({ sql, schema, store, migrate, routines, missing, changed }) => {
  sql(schema)
  const fresh = sql(routines)

  test('a store without autoMigrate reports STORE_CONFIG, and holdfast migrate brings it up to date', async () => {
    sql(missing)
    const one = store(false)
    await expect(one.attempt(makeClaim('before'), TRY)).rejects.toMatchObject({
      code: 'STORE_CONFIG',
      message: expect.stringContaining('holdfast migrate') as string,
    })
    await migrate()
    expect(sql(routines)).toBe(fresh)
    await expect(holds(one)).resolves.toEqual([true])
    await one.close()
  })

  test('a store with autoMigrate brings it up to date', async () => {
    sql(missing)
    const one = store(true)
    await expect(holds(one)).resolves.toEqual([true])
    expect(sql(routines)).toBe(fresh)
    await one.close()
  })

  test('the SQL brings it up to date, and may run again', async () => {
    sql(missing)
    sql(schema)
    sql(schema)
    expect(sql(routines)).toBe(fresh)
  })

  test.each([
    ['holdfast migrate', migrate],
    ['the SQL', () => sql(schema)],
  ])('%s replaces a routine whose text has changed under its name', async (_how, update) => {
    sql(changed)
    const one = store(false)
    await expect(holds(one)).resolves.toBeUndefined()
    await update()
    await expect(holds(one)).resolves.toEqual([true])
    await one.close()
  })

  test('calls succeed while the SQL replaces the routines under them', async () => {
    const one = store(false)
    let over = false
    const calling = (async () => {
      let calls = 0
      for (; !over; calls += 1) await one.attempt(makeClaim(`during ${calls}`), TRY)
      return calls
    })()
    for (let times = 0; times < 5; times += 1) {
      sql(changed)
      await migrate()
    }
    over = true
    await expect(calling).resolves.toBeGreaterThan(0)
    await one.close()
  })
})

test('mysql: a call that finds its procedure dropped by a migration is sent again', async () => {
  const routine = ROUTINES.find(({ name }) => name === 'holdfast_apply_one_v1')
  const one = mysqlStore({ pool: mysqlPool })
  await mysqlPool.query('drop procedure holdfast_apply_one_v1')
  const attempt = one.attempt(makeClaim('dropped'), TRY)
  await pause(50) // the call finds the procedure missing meanwhile
  await mysqlPool.query(routine?.sql ?? '')
  await expect(attempt).resolves.toMatchObject({ outcome: 'granted' })
  await one.close()
})

test('postgres: a migration that has nothing to change waits for no client that writes', async () => {
  const writer = await pgPool.connect()
  try {
    await writer.query(
      'begin; lock table holdfast.waiters, holdfast.tombstones in row exclusive mode',
    )
    await expect(
      Promise.race([migratePostgres(pgPool), pause(5000, 'still waits', { ref: false })]),
    ).resolves.toBeUndefined()
  } finally {
    await writer.query('rollback')
    writer.release()
  }
})

test('mysql: a migration that has waited too long for another one changes nothing, and fails', async () => {
  const other = await mysqlPool.getConnection()
  try {
    await other.query(`select get_lock('holdfast_migration', 0)`)
    await expect(migrateWithin(mysqlPool, 'late_', 1)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: 'Another client has been migrating for 1 seconds. Try again later.',
    })
    expect(mysql.sql("show tables like 'late%'")).toBe('')
  } finally {
    other.destroy()
  }
})
