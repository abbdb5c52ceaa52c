/**
 * A database that the previous version migrated: the migration of this version leaves the routines
 * of this version, with their present text, and no others.
 */
import { execFileSync } from 'node:child_process'
import { mysqlSchema } from 'holdfast/mysql'
import { postgresSchema } from 'holdfast/postgres'
import { afterAll, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { startPostgres } from '@holdfast/servers/postgres'
import { buildPrevious } from './previous.js'

const [previous, postgres, mysql] = await Promise.all([
  buildPrevious(),
  startPostgres(),
  startMysql(),
])
afterAll(() => Promise.all([previous.remove(), postgres.remove(), mysql.remove()]))

/** Schemas, or prefixes, that no routine has a word for. */
const [FORMER, FRESH] = ['hfformer', 'hffresh']

const DATABASES = [
  {
    name: 'postgres',
    schema: postgresSchema(FRESH),
    before: before(`(await import('holdfast/postgres')).postgresSchema('${FORMER}')`),
    after: postgresSchema(FORMER),
    read: (sql: string): string => postgres.psql(sql),
    run: (sql: string): string => postgres.psql(sql),
    routines: (of: string): string =>
      `select json_object_agg(p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')', pg_get_functiondef(p.oid))
         from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = '${of}'`,
  },
  {
    name: 'mysql',
    schema: mysqlSchema(`${FRESH}_`),
    before: before(`(await import('holdfast/mysql')).mysqlSchema('${FORMER}_')`),
    after: mysqlSchema(`${FORMER}_`),
    // In digits, since the client escapes what it prints.
    read: (sql: string): string => Buffer.from(mysql.sql(sql), 'hex').toString(),
    run: (sql: string): string => mysql.sql(sql),
    routines: (of: string): string =>
      `select hex(json_objectagg(r.routine_name, json_array(r.routine_definition, r.sql_mode, (
         select json_arrayagg(concat_ws(' ', p.parameter_mode, p.parameter_name, p.dtd_identifier))
           from information_schema.parameters p
          where p.specific_schema = r.routine_schema and p.specific_name = r.specific_name
       )))) from information_schema.routines r where r.routine_schema = database() and r.routine_name like '${of}\\_%'`,
  },
]

/** What the previous version says. */
function before(expression: string): string {
  const program = `process.stdout.write(${expression})`
  const args = ['--input-type=module', '--eval', program]
  return execFileSync(process.execPath, args, { cwd: previous.folder, encoding: 'utf8' })
}

test.each(DATABASES)('$name', ({ schema, before: old, after, run, read, routines }) => {
  const texts = (of: string): Record<string, unknown> => {
    return JSON.parse(read(routines(of)).replaceAll(of, 'holdfast')) as never
  }
  run(old)
  run(after)
  run(schema)
  const fresh = texts(FRESH)
  expect(Object.keys(fresh).length).toBeGreaterThan(5)
  expect(texts(FORMER)).toEqual(fresh)
})
