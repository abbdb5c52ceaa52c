/** What is left of the package in a process whose application has closed: nothing. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('an application that has closed leaves no timer, no socket and no listener', async () => {
  const program = join(import.meta.dirname, 'closed-application.mjs')
  // A process with a timer or a socket would live until the limit.
  const { stdout } = await promisify(execFile)(process.execPath, [program], { timeout: 60_000 })
  expect(JSON.parse(stdout)).toEqual({
    results: ['paid', 'leads', 'up'],
    subscribed: [],
    listeners: 0,
  })
}, 90_000)
