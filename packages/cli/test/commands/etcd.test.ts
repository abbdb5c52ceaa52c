/** The commands over etcd, as over the embedded store. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startEtcd, type EtcdCluster } from '@holdfast/servers/etcd'
import { Box } from '../support/holdfast.js'

let cluster: EtcdCluster
let env: { HOLDFAST_STORE: string }

beforeAll(async () => {
  cluster = await startEtcd()
  env = { HOLDFAST_STORE: cluster.endpoints.join().replace(/^http:/, 'etcd:') }
})
afterAll(() => cluster.stop())

describe('run over etcd', () => {
  it('runs the command under the lock, and passes its status on', async () => {
    const run = new Box().holdfast(['run', 'job', '--', 'sh', '-c', 'echo "$HOLDFAST_TOKEN"; exit 42'], {
      env,
    })
    expect(await run.code()).toBe(42)
    expect(BigInt(run.stdout.trim())).toBeGreaterThan(0n)
  })

  it('waits for its turn, shows itself, and ends when the lock is stolen', async () => {
    const box = new Box()
    const first = box.holdfast(['run', 'turn', '--', 'sh', '-c', 'echo held; sleep 60'], { env })
    await first.prints('held')
    const second = box.holdfast(['run', 'turn', '--', 'echo', 'mine'], { env })
    await expect.poll(() => inspect(box, 'turn')).toMatchObject({ waiters: 1 })
    const steal = box.holdfast(['steal', 'turn', '--confirm', 'turn', '--reason', 'a test', '--now'], { env })
    expect(await steal.code()).toBe(0)
    expect(await second.code()).toBe(0)
    expect(second.stdout).toBe('mine\n')
    expect(await first.code()).not.toBe(0)
  })

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

async function inspect(box: Box, name: string): Promise<{ waiters: number }> {
  const run = box.holdfast(['inspect', name, '--json'], { env })
  await run.code()
  const { lock } = JSON.parse(run.stdout) as { lock: { waiters: unknown[] } | null }
  return { waiters: lock?.waiters.length ?? 0 }
}
