/** The command line over databases: the schema by an explicit command, then the same commands as anywhere. */
import { afterAll, describe, expect, test } from 'vitest'
import { startMariadb } from '@holdfast/servers/mariadb'
import { startPostgres } from '@holdfast/servers/postgres'
import { Box } from '../support/holdfast.js'

const [postgres, mariadb] = await Promise.all([startPostgres(), startMariadb()])

afterAll(() => Promise.all([postgres.remove(), mariadb.remove()]))

const DATABASES = [
  { name: 'postgres', url: `${postgres.url}?schema=cli`, table: 'cli.locks' },
  { name: 'mysql', url: `${mariadb.url}?prefix=cli_`, table: 'cli_locks' },
]

describe.each(DATABASES)('$name', ({ url, table }) => {
  const env = { HOLDFAST_STORE: url }

  test('says that the schema is missing, and makes it when told to', async () => {
    const box = new Box()
    const early = box.holdfast(['run', 'job', '--', 'true'], { env })
    expect(await early.code()).toBe(78)
    const printed = box.holdfast(['migrate', '--print'], { env })
    expect(await printed.code()).toBe(0)
    expect(printed.stdout).toContain(`create table if not exists ${table.replace('cli.', '"cli".')}`)
    expect(await box.holdfast(['run', 'job', '--', 'true'], { env }).code()).toBe(78)
    for (const _ of [1, 2]) {
      const migrated = box.holdfast(['migrate'], { env })
      expect(await migrated.code()).toBe(0)
      expect(migrated.stdout).toContain('has what it needs')
    }
  })

  test('runs commands one at a time, shows who holds, and finds nothing wrong', async () => {
    const box = new Box()
    const holder = box.holdfast(['run', 'job', '--', 'sh', '-c', 'echo held; read -r _'], { env })
    await holder.prints('held')
    const busy = box.holdfast(['run', 'job', '--wait', '0', '--', 'true'], { env })
    expect(await busy.code()).toBe(75)
    const list = box.holdfast(['ls', '--json'], { env })
    expect(await list.code()).toBe(0)
    expect(JSON.parse(list.stdout)).toMatchObject({
      locks: [{ name: 'job', holders: [{ label: expect.any(String) }] }],
    })
    const waiting = box.holdfast(['run', 'job', '--', 'echo', 'next'], { env })
    holder.types('\n')
    expect(await holder.code()).toBe(0)
    expect(await waiting.code()).toBe(0)
    const doctor = box.holdfast(['doctor'], { env })
    expect(await doctor.code()).toBe(0)
    expect(doctor.stdout).toContain('tokens')
  })
})

test('a store without a schema has nothing to migrate', async () => {
  const program = new Box().holdfast(['migrate'])
  expect(await program.code()).toBe(64)
  expect(program.stderr).toContain('needs no migration')
})

test.each(['postgres:', 'mysql:///app'])('refuses %s, which names no server', async (url) => {
  const program = new Box().holdfast(['ls', '--store', url])
  expect(await program.code()).toBe(64)
  expect(program.stderr).toContain('names no server')
})
