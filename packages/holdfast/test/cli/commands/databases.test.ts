/**
 * The command line over databases: the schema by an explicit command, then the same commands as
 * anywhere.
 */
import { afterAll, describe, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { GUARDED, startPostgres } from '@holdfast/servers/postgres'
import { shownUrl } from '../../../dist/url/secrets.js'
import { Box } from '../support/holdfast.js'
import { expectOneToEnd } from '../support/nested-runs.js'
import { listenInSilence } from '../support/silent-server.js'

const [postgres, mysql] = await Promise.all([startPostgres(), startMysql()])

afterAll(() => Promise.all([postgres.remove(), mysql.remove()]))

const DATABASES = [
  { name: 'postgres', url: `${postgres.url}?schema=cli`, table: 'cli.locks' },
  { name: 'mysql', url: `${mysql.url}?prefix=cli_`, table: 'cli_locks' },
]

describe.each(DATABASES)('$name', ({ url, table }) => {
  const env = { HOLDFAST_STORE: url }

  test('reports a missing schema, and migrate creates it', async () => {
    const box = new Box()
    const early = box.holdfast(['run', 'job', '--', 'true'], { env })
    expect(await early.code()).toBe(78)
    const printed = box.holdfast(['migrate', '--print'], { env })
    expect(await printed.code()).toBe(0)
    expect(printed.stdout).toContain(
      `create table if not exists ${table.replace('cli.', '"cli".')}`,
    )
    expect(await box.holdfast(['run', 'job', '--', 'true'], { env }).code()).toBe(78)
    for (const _ of [1, 2]) {
      const migrated = box.holdfast(['migrate'], { env })
      expect(await migrated.code()).toBe(0)
      expect(migrated.stdout).toContain('is ready')
    }
    for (const [options, answer] of [
      [[], { migrated: true }],
      [['--print'], { sql: printed.stdout }],
    ] as const) {
      const json = box.holdfast(['migrate', '--json', ...options], { env })
      expect(await json.code()).toBe(0)
      expect(JSON.parse(json.stdout)).toEqual({ schemaVersion: 1, store: shownUrl(url), ...answer })
    }
  })

  test('ends one of two runs inside of runs that wait for each other', async () => {
    await expectOneToEnd(new Box(), env)
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

const COMMANDS = [
  ['ls'],
  ['inspect', 'job'],
  ['steal', 'job', '--claim', 'claim', '--reason', 'test'],
  ['steal', 'job', '--confirm', 'job', '--reason', 'test'],
  ['doctor'],
  ['migrate'],
]

test.each(DATABASES)(
  '$name: commands end with a message when the server accepts and stays silent',
  async ({ url }) => {
    const silent = await listenInSilence()
    try {
      const env = { HOLDFAST_STORE: url.replace(/:\d+\//, `:${silent.port}/`) }
      const box = new Box()
      const programs = COMMANDS.map((args) => box.holdfast(args, { env }))
      const codes = await Promise.all(programs.map((program) => program.code(40_000)))
      expect(codes).toEqual(COMMANDS.map(() => 69))
      const said = programs.map(({ stdout, stderr }) => stdout + stderr).join('')
      expect(said).not.toContain('fault of Holdfast')
    } finally {
      silent.stop()
    }
  },
  50_000,
)

function asGuest(url: string, user: string): string {
  return url.replace(/\/\/[^@/]*@/, `//${user}@`)
}

describe('a migration that fails', () => {
  postgres.psql(`create role ${GUARDED} login password 'right'; create role guest login`)
  mysql.sql(`create user guest@'%' identified by 'right'`)

  test.each([
    ['postgres, a server that is not there', 'postgres://app@127.0.0.1:1/db', 69, /ECONNREFUSED/],
    ['postgres, an unknown host', 'postgres://app@nowhere.invalid/db', 69, /nowhere\.invalid/],
    [
      'postgres, a wrong password',
      asGuest(postgres.url, `${GUARDED}:wrong`),
      77,
      /Check user, password/,
    ],
    [
      'postgres, a missing database',
      postgres.url.replace(/[^/]*$/, 'none'),
      78,
      /Create the database/,
    ],
    ['postgres, a guest', asGuest(postgres.url, 'guest'), 77, /needs CREATE on the database/],
    ['mysql, a server that is not there', 'mysql://app@127.0.0.1:1/db', 69, /ECONNREFUSED/],
    ['mysql, a wrong password', asGuest(mysql.url, 'guest:wrong'), 77, /Check user and password/],
    ['mysql, a missing database', mysql.url.replace(/[^/]*$/, 'none'), 78, /Create the database/],
    ['mysql, a guest', asGuest(mysql.url, 'guest:right'), 77, /Access denied/],
  ])('reports what is wrong: %s', async (_, store, code, message) => {
    const run = new Box().holdfast(['migrate', '--store', store])
    expect(await run.code()).toBe(code)
    expect(run.stderr).toMatch(message)
    expect(run.stdout).toBe('')
  })
})

describe.each([postgres, mysql])('at $url', ({ url }) => {
  test.each([[[]], [['--skip-ok']]])(
    'does not take a server that hangs for a busy lock %j',
    async (options) => {
      const silent = await listenInSilence()
      const store = url.replace(/:\d+\//, `:${silent.port}/`)
      try {
        const args = [
          'run',
          'job',
          '--store',
          store,
          '--wait',
          '500ms',
          '--json',
          ...options,
          '--',
          'true',
        ]
        const run = new Box().holdfast(args)
        expect(await run.code(20_000)).toBe(69)
        expect(JSON.parse(run.stderr)).toMatchObject({
          outcome: 'failed',
          error: { code: 'STORE_UNAVAILABLE' },
        })
      } finally {
        silent.stop()
      }
    },
    30_000,
  )
})

test('reaches PostgreSQL through its socket, with no host in the URL', async () => {
  const place = `host=${postgres.psql('show unix_socket_directories')}&port=${postgres.port}`
  const store = `postgresql:///postgres?${place}&user=postgres&schema=cli`
  const run = new Box().holdfast(['run', 'job', '--store', store, '--', 'echo', 'ran'])
  expect(await run.code(), run.stderr).toBe(0)
  expect(run.stdout).toBe('ran\n')
})

test('a store without a schema has nothing to migrate', async () => {
  const program = new Box().holdfast(['migrate'])
  expect(await program.code()).toBe(0)
  expect(program.stdout).toMatch(/is ready: the embedded store needs no tables\.\n$/)
  const unknown = new Box().holdfast(['migrate', '--store', 'gopher://host'])
  expect(await unknown.code()).toBe(64)
})

test.each(['postgres:', 'mysql:///app'])('refuses %s, which names no server', async (url) => {
  const program = new Box().holdfast(['ls', '--store', url])
  expect(await program.code()).toBe(64)
  expect(program.stderr).toContain('names no server')
})
