/** The commands over etcd, as over the embedded store. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startEtcd, type EtcdCluster } from '@holdfast/servers/etcd'
import { Box } from '../support/holdfast.js'
import { runOver, type StoreEnv } from '../support/run-over.js'

let cluster: EtcdCluster
let env: StoreEnv

beforeAll(async () => {
  cluster = await startEtcd()
  env = { HOLDFAST_STORE: cluster.endpoints.join().replace(/^http:/, 'etcd:') }
})
afterAll(() => cluster.stop())

runOver('etcd', () => env)

describe('bad luck with etcd', () => {
  it('says what is wrong when etcd is not there', async () => {
    const nowhere = { HOLDFAST_STORE: 'etcd://127.0.0.1:1' }
    const run = new Box().holdfast(['run', 'x', '--', 'true'], { env: nowhere })
    expect(await run.code()).toBe(69)
    expect(run.stderr).toMatch(/^holdfast: .*etcd at 127\.0\.0\.1:1|^holdfast: .*http:\/\/127\.0\.0\.1:1/)
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
