import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { startZooKeeper, type ZooKeeperEnsemble } from '@holdfast/servers/zookeeper'

let ensemble: ZooKeeperEnsemble | undefined

afterEach(async () => {
  await ensemble?.stop()
  ensemble = undefined
})

test('a single ZooKeeper leads itself, also after it was killed', async () => {
  ensemble = await startZooKeeper()
  expect(await ensemble.leader()).toBe(0)
  await ensemble.members[0]?.crash()
  await ensemble.members[0]?.start()
  expect(await ensemble.leader()).toBe(0)
})

test('three servers have one leader, and another one when it is killed', async () => {
  ensemble = await startZooKeeper({ servers: 3 })
  const first = await ensemble.leader()
  await ensemble.members[first]?.crash()
  const { leader } = ensemble
  await expect
    .poll(() => leader.call(ensemble).catch(() => first), { timeout: 10_000 })
    .not.toBe(first)
})

test('servers of one run share the classes that the first one has loaded', async () => {
  const templates = mkdtempSync(join(tmpdir(), 'holdfast-templates-'))
  vi.stubEnv('HOLDFAST_TEMPLATES', templates)
  try {
    ensemble = await startZooKeeper()
    const mapped = readFileSync(`/proc/${ensemble.members[0]?.pid}/maps`, 'utf8')
    expect(mapped).toContain(join(templates, 'zookeeper.jsa'))
  } finally {
    vi.unstubAllEnvs()
    rmSync(templates, { recursive: true })
  }
})
