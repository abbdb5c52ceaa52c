/** The commands over ZooKeeper, as over the embedded store. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startZooKeeper, TICK_MS, type ZooKeeperEnsemble } from '@holdfast/servers/zookeeper'
import { Box } from '../support/holdfast.js'

let ensemble: ZooKeeperEnsemble
let env: { HOLDFAST_STORE: string }

beforeAll(async () => {
  ensemble = await startZooKeeper()
  env = { HOLDFAST_STORE: `zk://${ensemble.connect}?tickMs=${TICK_MS}` }
})
afterAll(() => ensemble.stop())

describe('run over ZooKeeper', () => {
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

  it('says what is wrong when ZooKeeper is not there', async () => {
    const nowhere = { HOLDFAST_STORE: 'zk://127.0.0.1:1' }
    const run = new Box().holdfast(['run', 'x', '--', 'true'], { env: nowhere })
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

async function inspect(box: Box, name: string): Promise<{ waiters: number }> {
  const run = box.holdfast(['inspect', name, '--json'], { env })
  await run.code()
  const { lock } = JSON.parse(run.stdout) as { lock: { waiters: unknown[] } | null }
  return { waiters: lock?.waiters.length ?? 0 }
}
