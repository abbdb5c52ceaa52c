/** The commands over etcd, as over the embedded store. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startEtcd, type EtcdCluster } from '@holdfast/servers/etcd'
import { Box } from '../support/holdfast.js'
import { expectOneToEnd } from '../support/nested-runs.js'
import { runOver, type StoreEnv } from '../support/run-over.js'
import { listenInSilence } from '../support/silent-server.js'
import { eventually } from '@holdfast/servers/eventually'

let cluster: EtcdCluster
let env: StoreEnv

beforeAll(async () => {
  cluster = await startEtcd()
  env = { HOLDFAST_STORE: cluster.endpoints.join().replace(/^http:/, 'etcd:') }
})
afterAll(() => cluster.stop())

runOver('etcd', () => env)

it('ends one of two runs inside of runs that wait for each other', async () => {
  await expectOneToEnd(new Box(), env)
})

describe('bad luck with etcd', () => {
  it('says what is wrong when etcd is not there', async () => {
    const nowhere = { HOLDFAST_STORE: 'etcd://127.0.0.1:1' }
    const run = new Box().holdfast(['run', 'x', '--wait', '0', '--', 'true'], { env: nowhere })
    expect(await run.code()).toBe(69)
    expect(run.stderr).toMatch(
      /^holdfast: .*etcd at 127\.0\.0\.1:1|^holdfast: .*http:\/\/127\.0\.0\.1:1/,
    )
  })

  it.each([[[]], [['--skip-ok']]])(
    'does not take a wait without an answer for a busy lock %j',
    async (options) => {
      const nowhere = { HOLDFAST_STORE: 'etcd://127.0.0.1:1' }
      const args = ['run', 'x', '--wait', '500ms', '--json', ...options, '--', 'true']
      const run = new Box().holdfast(args, { env: nowhere })
      expect(await run.code(20_000)).toBe(69)
      expect(JSON.parse(run.stderr)).toMatchObject({
        outcome: 'failed',
        error: { code: 'STORE_UNAVAILABLE' },
      })
    },
  )

  it('does not take a server that hangs for a busy lock, and ends its wait at a signal', async () => {
    const silent = await listenInSilence()
    try {
      const hanging = { HOLDFAST_STORE: `etcd://127.0.0.1:${silent.port}` }
      const args = ['run', 'x', '--wait', '1ms', '--skip-ok', '--', 'true']
      const run = new Box().holdfast(args, { env: hanging })
      expect(await run.code(20_000)).toBe(69)
      const before = silent.connections()
      const patient = ['run', 'x', '--wait', '1m', '--', 'true']
      const ended = new Box().holdfast(patient, { env: hanging })
      await eventually('it asks', () => silent.connections() > before)
      ended.kill('SIGTERM')
      expect(await ended.code(20_000)).toBe(143)
    } finally {
      silent.stop()
    }
  })
})

describe('doctor over etcd', () => {
  it('looks at the members', async () => {
    const run = new Box().holdfast(['doctor'], { env })
    expect(await run.code()).toBe(0)
    expect(run.stdout).toMatch(/member .*etcd 3\.\d+\.\d+, leader/)
    expect(run.stdout).toMatch(/tokens .*grow/)
  })
})
