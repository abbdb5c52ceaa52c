/**
 * A process ends soon after it has closed its locks and its pool, also when it has waited. One that
 * ends as soon as `run` has resolved leaves no lock taken.
 */
import { execFile, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createLocks } from 'holdfast'
import { mysqlSchema } from 'holdfast/mysql'
import { postgresSchema } from 'holdfast/postgres'
import { afterAll, expect, test } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import { startMysql } from '@holdfast/servers/mysql'
import { startPostgres } from '@holdfast/servers/postgres'
import { openStore } from './open-store.mjs'

const [postgres, mysql] = await Promise.all([startPostgres(), startMysql()])
postgres.psql(postgresSchema())
mysql.sql(mysqlSchema())
afterAll(() => Promise.all([postgres.remove(), mysql.remove()]))

const PROGRAM = fileURLToPath(new URL('waits-and-closes.mjs', import.meta.url))
const EXITS = fileURLToPath(new URL('exits-after-run.mjs', import.meta.url))
const LIBRARIES = [
  ['pg', postgres.url],
  ['postgres', postgres.url],
  ['mysql2', mysql.url],
] as const

test.each(LIBRARIES)('%s: nothing keeps the process alive', async (library, url) => {
  const child = spawn(process.execPath, [PROGRAM, library, url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closedMs = new Promise<number>((resolve) => {
    child.stdout.once('data', () => resolve(performance.now()))
  })
  const endedMs = new Promise<number>((resolve) => {
    child.once('exit', () => resolve(performance.now()))
  })
  const aliveMs = (await endedMs) - (await closedMs)
  // A sleeping session of MariaDB notices after five seconds that its client has gone.
  expect(aliveMs).toBeLessThan(2500)
})

test.each(LIBRARIES)('%s: a release is written when run resolves', async (library, url) => {
  const names = ['one', 'two', 'three'].map((name) => `${library}:${name}`)
  // An instance of `postgres` may open a connection for a release, which takes it a few turns.
  const rounds = library === 'postgres' ? '0' : '4'
  await promisify(execFile)(process.execPath, [EXITS, library, url, rounds, ...names])
  const { pool, store } = openStore(library, url)
  const locks = createLocks(store)
  try {
    await eventually(
      'all locks are free',
      async () => {
        const each = names.flatMap((name) => [name, `${name}:once`])
        const all = await Promise.all(each.map((name) => locks.mutex(name).inspect()))
        return all.every(({ holders }) => holders.length === 0)
      },
      { withinMs: 5000 },
    )
  } finally {
    await locks.close()
    await pool.end()
  }
})
