/** A process ends soon after it has closed its locks and its pool, also when it has waited. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { mysqlSchema } from 'holdfast/mysql'
import { postgresSchema } from 'holdfast/postgres'
import { afterAll, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { startPostgres } from '@holdfast/servers/postgres'

const [postgres, mysql] = await Promise.all([startPostgres(), startMysql()])
postgres.psql(postgresSchema())
mysql.sql(mysqlSchema())
afterAll(() => Promise.all([postgres.remove(), mysql.remove()]))

const PROGRAM = fileURLToPath(new URL('waits-and-closes.mjs', import.meta.url))

test.each([
  ['pg', postgres.url],
  ['postgres', postgres.url],
  ['mysql2', mysql.url],
])('%s: nothing keeps the process alive', async (library, url) => {
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
