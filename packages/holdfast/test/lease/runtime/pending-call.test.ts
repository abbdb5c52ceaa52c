/** A pending call keeps the process alive until it settles, also where nothing else does. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const PROGRAM = join(import.meta.dirname, 'pending-call.mjs')
const LIMIT_MS = 60_000

test('Node ends no process under a pending call', { timeout: 2 * LIMIT_MS }, async () => {
  const running = promisify(execFile)(process.execPath, [PROGRAM], { timeout: LIMIT_MS })
  const found = JSON.parse((await running).stdout) as { calls: number; abandoned: string[] }
  expect(found.calls).toBeGreaterThan(0)
  expect(found.abandoned).toEqual([])
})
