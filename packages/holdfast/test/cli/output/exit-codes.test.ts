/** The table of exit codes in docs/command-line.md is the one of the code. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ERROR_EXITS } from '../../../dist/cli/exit-codes.js'
import { failureOf } from '../../../dist/cli/failure.js'

const page = readFileSync(new URL('../../../../../docs/command-line.md', import.meta.url), 'utf8')

test('the documented codes are those of the code, in its order', () => {
  const rows = [...page.matchAll(/^\| (\d+) +\| `([A-Z_]+)` +\|/gm)]
  expect(rows.map(([, exit, code]) => [code, Number(exit)])).toEqual(Object.entries(ERROR_EXITS))
})

test.each([
  [
    'STORE_UNAVAILABLE',
    'redis',
    'Redis: connect ECONNREFUSED. Check that the server runs and can be reached, and that the client is connected.',
  ],
  [
    'STORE_CONFIG',
    'postgres',
    'The schema "holdfast" of Holdfast is not in this database: relation is missing. Run holdfast migrate --store URL or the SQL of postgresSchema() once, or create the store with autoMigrate: true.',
  ],
  [
    'STORE_AUTH',
    'redis',
    'Redis: NOAUTH HELLO must be called with the client already authenticated. The server asks for a password: give the client one that it accepts.',
  ],
])('%s of the %s store speaks to an operator', (code, store, message) => {
  const error = Object.assign(new Error(message), { code, store })
  const shown = failureOf(error).message
  expect(shown).not.toMatch(/\b(?:client|pool|autoMigrate)\b|\(\)/)
  expect(shown).toMatch(/holdfast doctor|holdfast migrate|HOLDFAST_REDIS_PASSWORD/)
})

test('a message for operators stays as it is', () => {
  const message = 'The folder /x is on a network file system. Choose a folder on a local disk.'
  expect(failureOf(Object.assign(new Error(message), { code: 'STORE_CONFIG' })).message).toBe(
    message,
  )
})
