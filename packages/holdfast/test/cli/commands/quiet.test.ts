/** What client libraries and Node print by themselves stays out of the output of a command. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Box } from '../support/holdfast.js'

const MYSQL2 = createRequire(import.meta.url).resolve('mysql2/promise')
/** No server listens there, so each command ends soon. */
const MYSQL = 'mysql://u:p@127.0.0.1:1/d'
const POSTGRES = 'postgres://u:p@127.0.0.1:1/d?sslmode=require'

/** The real mysql2, after messages in each of the ways that libraries have. */
function noisyMysql(box: Box): string {
  const place = join(box.folder, 'node_modules/mysql2')
  mkdirSync(place, { recursive: true })
  const noise = ['log', 'info', 'warn', 'error'].map((method) => `console.${method}('noise')`)
  const warning = "process.emitWarning('noise', 'DeprecationWarning')"
  const real = `module.exports = require(${JSON.stringify(MYSQL2)})`
  writeFileSync(join(place, 'promise.js'), [...noise, warning, real].join('\n'))
  return box.folder
}

describe.each([
  ['a client library', MYSQL, (box: Box) => ({ HOLDFAST_MODULES: noisyMysql(box) })],
  ['pg about its modes of TLS', POSTGRES, () => ({})],
  ['Node about TLS', 'rediss://127.0.0.1:1', () => ({ NODE_TLS_REJECT_UNAUTHORIZED: '0' })],
] as const)('a message of %s', (_, store, environment) => {
  it('does not stand beside the object of --json', async () => {
    const box = new Box()
    const args = ['run', 'x', '--store', store, '--wait', '0', '--json', '--', 'true']
    const run = box.holdfast(args, { env: environment(box) })
    expect(await run.code()).toBe(69)
    expect(run.stdout).toBe('')
    expect(run.stderr.trim().split('\n')).toHaveLength(1)
    expect(JSON.parse(run.stderr)).toMatchObject({ exitCode: 69 })
  })

  it('does not come from a crontab', async () => {
    const box = new Box()
    const args = ['run', 'x', '--store', store, '--wait', '0', '--skip-ok', '--', 'true']
    const run = box.holdfast(args, { env: environment(box) })
    expect(await run.code()).toBe(69)
    expect(run.stdout).toBe('')
    expect(run.stderr).toMatch(/^holdfast: .+\n$/)
  })
})

it('doctor shows them', async () => {
  const run = new Box().holdfast(['doctor', '--store', POSTGRES])
  expect(await run.code()).toBe(69)
  expect(run.stderr).toBe('')
  expect(run.stdout).toMatch(/^WARNING +library +Warning: .*sslmode/m)
})
