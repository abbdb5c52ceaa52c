/**
 * Redis with Sentinels, and a Redis Cluster: they start, replace a dead primary, move slots, and go
 * away.
 */
import { afterEach, expect, test } from 'vitest'
import { startCluster } from '@holdfast/servers/redis-cluster'
import { startSentinels } from '@holdfast/servers/redis-sentinel'

const stops: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

test('Sentinels put the replica in the place of a killed primary, which comes back as a replica', async () => {
  const group = await startSentinels()
  stops.push(() => group.stop())
  const primary = await group.primary()
  expect(primary).toBe(group.servers[0])
  expect(await primary.command('SET', 'key', 'value')).toBe('+OK\r\n')
  expect(await primary.command('WAIT', '1', '5000')).toMatch(/^:/)
  await primary.kill()
  const next = await group.untilReplaced(primary)
  expect(next).toBe(group.servers[1])
  expect(await next.command('GET', 'key')).toContain('value')
  await group.rejoin(primary)
  // Not asked of the one that was killed: on a busy machine the Sentinels may take its successor
  // for dead by now.
  const write = async (): Promise<string> => (await group.replica()).command('SET', 'key', 'other')
  await expect.poll(write, { timeout: 10_000 }).toMatch(/^-READONLY/)
})

test('a Cluster has an owner for every key, moves slots, and replaces a killed primary', async () => {
  const cluster = await startCluster({ partial: false })
  stops.push(() => cluster.stop())
  const owners = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((key) => cluster.ownerOf(key)))
  expect(new Set(owners).size).toBeGreaterThan(1)

  const [from, slot] = [await cluster.ownerOf('key'), await cluster.slotOf('key')]
  const to = cluster.members.find(({ shard }) => shard !== from.shard) ?? from
  expect(await from.server.command('SET', 'key', 'value')).toBe('+OK\r\n')
  await cluster.moveSlot(slot, from, to)
  expect(await cluster.ownerOf('key')).toBe(to)
  expect(await from.server.command('GET', 'key')).toBe(
    `-MOVED ${slot} 127.0.0.1:${to.server.port}\r\n`,
  )
  expect(await to.server.command('GET', 'key')).toContain('value')

  await to.server.kill()
  const next = await cluster.untilReplaced(to)
  expect(await next.server.command('GET', 'key')).toContain('value')
  await to.server.start()
  await cluster.untilWhole()
})
