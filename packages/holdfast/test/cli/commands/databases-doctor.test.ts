/** What `holdfast doctor` finds in databases, well and ill. */
import { mysqlSchema } from 'holdfast/mysql'
import { postgresSchema } from 'holdfast/postgres'
import { afterAll, describe, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { startPgbouncer } from '@holdfast/servers/pgbouncer'
import { startPostgres } from '@holdfast/servers/postgres'
import { Box } from '../support/holdfast.js'

const [postgres, mysql] = await Promise.all([startPostgres(), startMysql()])
const pgbouncer = await startPgbouncer(postgres.port, 'transaction')
postgres.psql(postgresSchema())
mysql.sql(mysqlSchema())

afterAll(async () => {
  await pgbouncer.remove()
  await Promise.all([postgres.remove(), mysql.remove()])
})

interface Finding {
  readonly check: string
  readonly verdict: string
  readonly text: string
}

/** The findings by the name of their check, and the exit code. */
async function doctor(
  url: string,
): Promise<{ code: number | string; found: Record<string, Finding> }> {
  const run = new Box().holdfast(['doctor', '--json'], { env: { HOLDFAST_STORE: url } })
  const code = await run.code()
  const { checks } = JSON.parse(run.stdout) as { checks: Finding[] }
  return { code, found: Object.fromEntries(checks.map((finding) => [finding.check, finding])) }
}

const as = (url: string, user: string): string => url.replace(/\/\/\w+@/, `//${user}@`)

describe('PostgreSQL', () => {
  test('a good one: everything is looked at', async () => {
    const { code, found } = await doctor(postgres.url)
    expect(code).toBe(0)
    expect(found['version']?.text).toMatch(/^PostgreSQL \d+\.\d+/)
    for (const check of [
      'pooler',
      'privileges',
      'isolation',
      'timeouts',
      'store clock',
      'names',
      'tokens',
    ]) {
      expect(found[check], check).toMatchObject({ verdict: 'ok' })
    }
    // The tests' server does not wait for the disk.
    expect(found['durability']).toMatchObject({ verdict: 'warning' })
    expect(found['durability']?.text).toContain('fsync is off')
  })

  test('a pooler in transaction mode', async () => {
    const { code, found } = await doctor(pgbouncer.url)
    expect(code).toBe(0)
    expect(found['pooler']).toMatchObject({ verdict: 'warning' })
    expect(found['pooler']?.text).toContain('transaction mode')
  })

  test('no schema, too few rights, no writes, another isolation', async () => {
    const missing = await doctor(`${postgres.url}?schema=nowhere`)
    expect(missing.code).toBe(78)
    expect(missing.found['schema']?.text).toContain('the schema nowhere not found')
    postgres.psql('create role reader login; grant usage on schema holdfast to reader')
    postgres.psql('grant select on all tables in schema holdfast to reader')
    const poor = await doctor(as(postgres.url, 'reader'))
    expect(poor.code).toBe(77)
    expect(poor.found['privileges']?.text).toContain('INSERT on holdfast.locks')
    const readOnly = await doctor(`${postgres.url}?options=-c%20default_transaction_read_only%3Don`)
    expect(readOnly.code).toBe(78)
    expect(readOnly.found['primary']?.text).toContain('primary')
    const isolated = await doctor(
      `${postgres.url}?options=-c%20default_transaction_isolation%3Dserializable`,
    )
    expect(isolated.code).toBe(78)
    expect(isolated.found['isolation']?.text).toContain('read committed')
  })
})

/** MySQL has no limit on idle transactions alone. */
function setIdleLimit(seconds: number): void {
  if (mysql.product === 'MariaDB') mysql.sql(`set global idle_transaction_timeout = ${seconds}`)
}

describe(mysql.product, () => {
  test('a good one: everything is looked at', async () => {
    setIdleLimit(60)
    const { code, found } = await doctor(mysql.url)
    expect(code).toBe(0)
    expect(found['version']?.text).toMatch(new RegExp(`^${mysql.product} \\d+\\.\\d+`))
    for (const check of [
      'pooler',
      'user',
      'privileges',
      'isolation',
      'store clock',
      'names',
      'tokens',
    ]) {
      expect(found[check], check).toMatchObject({ verdict: 'ok' })
    }
    const [verdict, remedy] =
      mysql.product === 'MariaDB' ? ['ok', ''] : ['warning', 'a shorter wait_timeout']
    expect(found['timeouts']).toMatchObject({
      verdict,
      text: expect.stringContaining(remedy) as string,
    })
    expect(found['durability']?.text).toContain('innodb_flush_log_at_trx_commit is 0')
  })

  test('no limit on idle transactions, no tables, too few rights, no writes', async () => {
    setIdleLimit(0)
    expect((await doctor(mysql.url)).found['timeouts']).toMatchObject({ verdict: 'warning' })
    const missing = await doctor(`${mysql.url}?prefix=nowhere_`)
    expect(missing.code).toBe(78)
    expect(missing.found['schema']?.text).toContain('nowhere_locks')
    mysql.sql('create user reader; grant select, execute on app.* to reader')
    const poor = await doctor(as(mysql.url, 'reader'))
    expect(poor.code).toBe(77)
    expect(poor.found['privileges']?.text).toContain('INSERT on holdfast_locks')
    mysql.sql('create user writer; grant all on app.* to writer; set global read_only = on')
    const readOnly = await doctor(as(mysql.url, 'writer'))
    expect(readOnly.code).toBe(78)
    expect(readOnly.found['primary']?.text).toContain('primary')
  })
})
