/** What client libraries and Node print by themselves stays out of the output of a command. */
import { describe, expect, it } from 'vitest'
import { Box } from '../support/holdfast.js'

/** No server listens there, so each command ends soon. */
const NOISY = [
  ['mysql2 about an option', 'mysql://u:p@127.0.0.1:1/d?flags=%2BNOTHING&foo=1', {}],
  ['pg about its modes of TLS', 'postgres://u:p@127.0.0.1:1/d?sslmode=require', {}],
  ['Node about TLS', 'rediss://127.0.0.1:1', { NODE_TLS_REJECT_UNAUTHORIZED: '0' }],
  [
    'Node about a deprecated call',
    'redis://127.0.0.1:1',
    { NODE_OPTIONS: '--pending-deprecation' },
  ],
] as const

describe.each(NOISY)('a message of %s', (_, store, env) => {
  it('does not stand beside the object of --json', async () => {
    const run = new Box().holdfast(
      ['run', 'x', '--store', store, '--wait', '0', '--json', '--', 'true'],
      { env },
    )
    expect(await run.code()).toBe(69)
    expect(run.stderr.trim().split('\n')).toHaveLength(1)
    expect(JSON.parse(run.stderr)).toMatchObject({ exitCode: 69 })
  })

  it('does not come from a crontab', async () => {
    const run = new Box().holdfast(
      ['run', 'x', '--store', store, '--wait', '0', '--skip-ok', '--', 'true'],
      { env },
    )
    expect(await run.code()).toBe(69)
    expect(run.stderr).toMatch(/^holdfast: .+\n$/)
  })
})

it('doctor shows them', async () => {
  const run = new Box().holdfast(['doctor', '--store', NOISY[1][1]])
  expect(await run.code()).toBe(69)
  expect(run.stderr).toBe('')
  expect(run.stdout).toMatch(/^WARNING +library +Warning: .*sslmode/m)
})
