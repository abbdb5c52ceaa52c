/** The commands over ZooKeeper, as over the embedded store. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startZooKeeper, TICK_MS, type ZooKeeperEnsemble } from '@holdfast/servers/zookeeper'
import { Box } from '../support/holdfast.js'
import { runOver, type StoreEnv } from '../support/run-over.js'

let ensemble: ZooKeeperEnsemble
let env: StoreEnv

beforeAll(async () => {
  ensemble = await startZooKeeper()
  env = { HOLDFAST_STORE: `zk://${ensemble.connect}?tickMs=${TICK_MS}` }
})
afterAll(() => ensemble.stop())

runOver('ZooKeeper', () => env)

describe('bad luck with ZooKeeper', () => {
  it('says what is wrong when ZooKeeper is not there', async () => {
    const nowhere = { HOLDFAST_STORE: 'zk://127.0.0.1:1' }
    const run = new Box().holdfast(['run', 'x', '--wait', '0', '--', 'true'], { env: nowhere })
    expect(await run.code()).toBe(69)
    expect(run.stderr).toMatch(/^holdfast: .*ZooKeeper at 127\.0\.0\.1:1/m)
  })
})

describe('doctor over ZooKeeper', () => {
  it('looks at the servers and at the session', async () => {
    const run = new Box().holdfast(['doctor'], { env })
    expect(await run.code()).toBe(0)
    expect(run.stdout).toMatch(/server .*ZooKeeper 3\.\d+\.\d+, standalone/)
    expect(run.stdout).toMatch(/session .*is granted/)
    expect(run.stdout).toMatch(/tokens .*grow/)
  })
})
