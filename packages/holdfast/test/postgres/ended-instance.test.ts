/** A process that ends its instance of postgres.js, which opens a connection to listen. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { postgresSchema } from 'holdfast/postgres'
import { startPostgres } from '@holdfast/servers/postgres'
import { afterAll, expect, test } from 'vitest'

const PROGRAM = fileURLToPath(new URL('ended-instance.mjs', import.meta.url))
/** A connection that nothing ends would keep the program alive until here. */
const LIMIT_MS = 40_000

const server = await startPostgres()
server.psql(postgresSchema())
afterAll(() => server.remove())

/** Runs the program until it ends by itself, and returns what it printed. */
async function runUntilEnd(scene: string): Promise<string> {
  const args = [PROGRAM, server.url, scene]
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: LIMIT_MS })
  return stdout
}

test('ended instance refuses to listen, and its process ends', async () => {
  expect(await runUntilEnd('ended')).toBe('LOCKS_CLOSED')
})

test('store that closes while the instance connects to listen leaves no socket', async () => {
  await runUntilEnd('connecting')
})
