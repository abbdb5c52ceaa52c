/** Every object of `--json` matches the JSON Schema of the package. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import { createLocks } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'
import { CAPACITY_ALL } from 'holdfast/store'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { Box } from '../support/holdfast.js'

const schema = JSON.parse(
  readFileSync(new URL('../../../schema/output.v1.json', import.meta.url), 'utf8'),
) as { readonly $id: string; readonly $defs: Readonly<Record<string, object>> }
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, formats: { 'date-time': ISO } })
ajv.addSchema(schema)

/** Fails with the errors of the validator. */
function expectValid(definition: string, text: string): void {
  const validate = ajv.getSchema(`${schema.$id}#/$defs/${definition}`)
  if (validate === undefined) throw new Error(`the schema has no ${definition}`)
  expect(validate(JSON.parse(text)), JSON.stringify(validate.errors)).toBe(true)
}

test('the schema refuses an object without a key', () => {
  const validate = ajv.getSchema(`${schema.$id}#/$defs/ls`)
  expect(validate?.({ schemaVersion: 1, at: null, store: '', locks: [] })).toBe(false)
})

test('ls and inspect, with holders, waiters, readers and permits', async () => {
  const box = new Box()
  const holders = [
    await box.holder('job'),
    await box.holder('pool', ['--permits', '2']),
    await box.holder('page', ['--shared']),
  ]
  const waiter = box.holdfast(['run', 'job', '--', 'true'])
  await box.waiters('job', 1)
  for (const args of [['ls'], ['inspect', 'job'], ['inspect', 'pool'], ['inspect', 'absent']]) {
    const run = box.holdfast([...args, '--json'])
    expect(await run.code()).toBe(0)
    expectValid(args[0] ?? '', run.stdout)
    expect(run.stdout).not.toContain('2147483647')
  }
  const { lock } = await box.json<{ lock: { holders: { heldSince: string }[] } }>([
    'inspect',
    'job',
  ])
  const heldForMs = Date.now() - Date.parse(lock.holders[0]?.heldSince ?? '')
  expect(heldForMs).toBeGreaterThan(0)
  expect(heldForMs).toBeLessThan(60_000)
  for (const holder of holders) holder.types('\n')
  expect(await waiter.code()).toBe(0)
})

test('deadlocks', async () => {
  const box = new Box()
  const locks = createLocks(embeddedStore({ directory: box.file('store') }))
  const { claimId } = await locks.mutex('job').acquire()
  const {
    locks: [info],
  } = await locks.inspect()
  const [holder] = info?.holders ?? []
  if (!holder) throw new Error('the lock has no holder')
  // It waits for the lock that it holds.
  const note = { id: 'a-wait', lock: 'job', weight: CAPACITY_ALL, sinceMs: Date.now() }
  const owner = { ...holder.owner, waitsFor: [note] }
  await locks.store.renew([{ lock: 'job', id: claimId, ttlMs: 30_000, owner, keepsEnd: true }])
  const run = box.holdfast(['deadlocks', '--json'])
  expect(await run.code()).toBe(75)
  expectValid('deadlocks', run.stdout)
  expect(JSON.parse(run.stdout)).toMatchObject({
    deadlocks: [{ steps: [{ lock: 'job', claimId, waitsFor: 'job' }] }],
  })
  await locks.close()
})

test('run, steal, handles, doctor, migrate and failures', async () => {
  const box = new Box()
  const run = box.holdfast(['run', 'job', '--json', '--', 'true'])
  expect(await run.code()).toBe(0)
  expectValid('run', run.stderr)
  const holder = await box.holder('job')
  const busy = box.holdfast(['run', 'job', '--wait', '0', '--json', '--', 'true'])
  expect(await busy.code()).toBe(75)
  expectValid('run', busy.stderr)
  const steal = box.holdfast(['steal', 'job', '--confirm', 'job', '--reason', 'why', '--json'])
  expect(await steal.code()).toBe(0)
  expectValid('steal', steal.stdout)
  expect(await holder.code()).toBe(74)
  const next = await box.holder('job')
  const claim = (await box.inspect('job'))?.holders[0]?.claimId ?? ''
  const consent = ['--confirm', 'job', '--reason', 'why']
  const one = box.holdfast(['steal', 'job', '--claim', claim, ...consent, '--json'])
  expect(await one.code()).toBe(0)
  expectValid('steal', one.stdout)
  const acquire = box.holdfast(['acquire', 'handed', '--json'])
  expect(await acquire.code()).toBe(0)
  expectValid('acquire', acquire.stdout)
  const { handle } = JSON.parse(acquire.stdout) as { handle: string }
  for (const verb of ['renew', 'release']) {
    const run = box.holdfast([verb, handle, '--json'])
    expect(await run.code()).toBe(0)
    expectValid(verb, run.stdout)
  }
  next.kill('SIGKILL')
  const doctor = box.holdfast(['doctor', '--json'])
  expect(await doctor.code()).toBe(0)
  expectValid('doctor', doctor.stdout)
  const sql = box.holdfast(['migrate', '--print', '--json', '--store', 'postgres://h/d'])
  expect(await sql.code()).toBe(0)
  expectValid('migrate', sql.stdout)
  const failure = box.holdfast(['ls', '--nonsense', '--json'])
  expect(await failure.code()).toBe(64)
  expectValid('failure', failure.stderr)
})
