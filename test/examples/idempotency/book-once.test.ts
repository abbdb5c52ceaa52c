/** Where the unique key alone suffices: the effect is a row of the same database. */
import { startPostgres, type PostgresServer } from '@holdfast/servers/postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Program } from '../programs.js'

const BOOKER = 'test/examples/idempotency/booker.mjs'

let postgres: PostgresServer

beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.remove())

function count(): Promise<string> {
  return postgres.ask('select count(*) from bookings')
}

test('retries at one time book once, and get the same booking', async () => {
  const env = { STORE: postgres.url, KEY: 'one' }
  const bookers = Array.from({ length: 4 }, () => new Program(BOOKER, env))
  for (const booker of bookers) await booker.prints('booking ')
  expect(new Set(bookers.map(({ output }) => output.trim())).size).toBe(1)
  expect((await count()).trim()).toBe('1')
})

test('a crash before the commit leaves nothing, and the retry books once', async () => {
  const before = Number(await count())
  const env = { STORE: postgres.url, KEY: 'two' }
  const dying = new Program(BOOKER, { ...env, DIES: 'yes' })
  expect(await dying.ended).toBe('SIGKILL')
  expect(Number(await count())).toBe(before)
  const bookers = Array.from({ length: 2 }, () => new Program(BOOKER, env))
  for (const booker of bookers) await booker.prints('booking ')
  expect(Number(await count())).toBe(before + 1)
})
