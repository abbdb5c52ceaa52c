import { afterEach, expect, test } from 'vitest'
import { startEtcd, type EtcdCluster } from '@holdfast/servers/etcd'

let cluster: EtcdCluster | undefined

afterEach(async () => {
  await cluster?.stop()
  cluster = undefined
})

test('a single etcd leads itself, also after it was killed', async () => {
  cluster = await startEtcd()
  expect(await cluster.leader()).toBe(0)
  await cluster.members[0]?.crash()
  await cluster.members[0]?.start()
  expect(await cluster.leader()).toBe(0)
})

test('three members have one leader, and another one when it is killed', async () => {
  cluster = await startEtcd({ members: 3 })
  const first = await cluster.leader()
  await cluster.members[first]?.crash()
  const { leader } = cluster
  await expect
    .poll(() => leader.call(cluster).catch(() => first), { timeout: 10_000 })
    .not.toBe(first)
})
