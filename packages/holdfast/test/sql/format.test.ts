/**
 * A schema that a later version of Holdfast migrated: refused by each call and by the migration,
 * and left as it is.
 */
import { migrateMysql, mysqlSchema, mysqlStore } from 'holdfast/mysql'
import { migratePostgres, postgresSchema, postgresStore } from 'holdfast/postgres'
import type { Store } from 'holdfast/store'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { startPostgres } from '@holdfast/servers/postgres'
import { makeClaim, QUEUE, TRY } from '../redis/support/world.js'

const [postgres, mysql] = await Promise.all([startPostgres(), startMysql()])
const pgPool = new Pool({ connectionString: postgres.url, max: 4 })
pgPool.on('error', () => undefined)
const mysqlPool = createPool({ uri: mysql.url, connectionLimit: 4 })

afterAll(async () => {
  await Promise.all([pgPool.end(), mysqlPool.end()])
  await Promise.all([postgres.remove(), mysql.remove()])
})

const signal = "begin signal sqlstate 'HF002' set message_text = 'the schema has format 2'; end"
const raise =
  "language plpgsql as $$ begin raise exception 'the schema has format 2' using errcode = 'HF002'; end $$"
const ONE =
  'text, text, text, text, text, integer, integer, integer, double precision, boolean, double precision, text'
const KITS = [
  {
    name: 'postgres',
    sql: (text: string): string => postgres.psql(text),
    schema: postgresSchema(),
    store: (autoMigrate: boolean): Store => postgresStore({ pool: pgPool, autoMigrate }),
    migrate: () => migratePostgres(pgPool),
    format: "select value from holdfast.facts where name = 'format'",
    noteEarlier: '',
    // As docs/internals/design.md says that a later version does it.
    later: `update holdfast.facts set value = '2' where name = 'format';
      drop function holdfast.apply_batch_v1(jsonb);
      create function holdfast.apply_batch_v1(newer jsonb) returns text ${raise};
      drop function holdfast.apply_one_v1(${ONE});
      create function holdfast.apply_one_v1(${ONE}) returns jsonb ${raise};
      drop function holdfast.apply_retake_v1;
      drop function holdfast.list_locks_v1(text, text, integer);
      create function holdfast.list_locks_v1(text, text, integer) returns table (name text, more text) ${raise};`,
    routines: `select md5(string_agg(p.prosrc, '' order by p.oid)) from pg_proc p
      join pg_namespace n on n.oid = p.pronamespace where n.nspname = 'holdfast'`,
  },
  {
    name: 'mysql',
    sql: (text: string): string => mysql.sql(text),
    schema: mysqlSchema(),
    store: (autoMigrate: boolean): Store => mysqlStore({ pool: mysqlPool, autoMigrate }),
    migrate: () => migrateMysql(mysqlPool),
    format: "select value from holdfast_facts where name = 'format'",
    noteEarlier: `update holdfast_facts set value = 'earlier' where name like 'procedure apply%'`,
    later: `update holdfast_facts set value = '2' where name = 'format';
      drop procedure holdfast_apply_batch_v1; drop procedure holdfast_apply_one_v1; drop procedure holdfast_list_locks_v1;
      delimiter //
      create procedure holdfast_apply_batch_v1(a text, b text, c boolean) ${signal}//
      create procedure holdfast_apply_one_v1(LIST) ${signal}//
      create procedure holdfast_list_locks_v1(a text, b text, c int) ${signal}//
      delimiter ;
      alter table holdfast_locks rename column sole_expires_us to sole_until_us;`,
    routines: `select sum(crc32(concat(routine_name, routine_definition))) from information_schema.routines
      where routine_schema = database()`,
  },
]

describe.each(KITS)('on $name', (kit) => {
  const { sql, schema, store, migrate, format, noteEarlier, later, routines } = kit
  test('a migration notes the format, and may be repeated', async () => {
    sql(schema)
    expect(sql(format)).toBe('1')
    await migrate()
    expect(sql(format)).toBe('1')
  })

  test('adoption on a schema without that verb asks for the migration, or migrates', async () => {
    const earlier = schema.replace(/when 'takeOver' then [^\n]*\n/g, '')
    expect(earlier).not.toBe(schema)
    sql(earlier)
    if (noteEarlier !== '') sql(noteEarlier)
    const [from, to] = [makeClaim('a'), makeClaim('a')]
    const one = store(false)
    const granted = await one.attempt(from, TRY)
    if (granted.outcome !== 'granted') throw new Error('the lock is free')
    const adoption = { from, token: granted.token, to, detached: false }
    await expect(one.adopt?.(adoption)).rejects.toMatchObject({
      code: 'STORE_CONFIG',
      message: expect.stringMatching(/another version.*holdfast migrate/s) as string,
    })
    const migrating = store(true)
    expect(await migrating.adopt?.(adoption)).toMatchObject({ outcome: 'granted' })
    expect(await migrating.withdraw(to)).toBe('released')
    await Promise.all([one.close(), migrating.close()])
  })

  test('a schema of a later format is refused and left as it is', async () => {
    const parameters = sql(
      "select count(*) from information_schema.parameters where specific_name = 'holdfast_apply_one_v1'",
    )
    const list = Array.from({ length: Number(parameters) }, (_, index) => `p${index} text`).join(
      ', ',
    )
    const used = store(false)
    // From the second time on by a plain statement, on MariaDB.
    for (const claim of [makeClaim('a'), makeClaim('a')]) {
      expect(await used.attempt(claim, TRY)).toMatchObject({ outcome: 'granted' })
      await used.withdraw(claim)
    }
    sql(later.replace('LIST', list))
    const before = sql(routines)
    const refused = {
      code: 'STORE_FORMAT',
      message: expect.stringMatching(/format 2.*Update Holdfast/s) as string,
    }
    for (const one of [used, store(false), store(true)]) {
      const claim = makeClaim('a')
      for (const how of [TRY, QUEUE])
        await expect(one.attempt(claim, how)).rejects.toMatchObject(refused)
      const both = ['b', 'c'].map(async (name) => one.attempt(makeClaim(name), TRY))
      for (const each of await Promise.allSettled(both))
        expect(each).toMatchObject({ reason: refused })
      await expect(one.withdraw(claim)).rejects.toMatchObject(refused)
      await expect(one.inspect(['a'])).rejects.toMatchObject(refused)
      await one.close()
    }
    await expect(migrate()).rejects.toMatchObject(refused)
    expect([sql(format), sql(routines)]).toEqual(['2', before])
  })
})
