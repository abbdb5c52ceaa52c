/**
 * A resource in Redis that refuses late tokens, and writes that are made only with one that is not.
 */
import { createLocks, type Lease, type Locks } from 'holdfast'
import { assertFence, fencedWrite, type RedisCommand } from 'holdfast/fence'
import { redisStore, type RedisClient } from 'holdfast/redis'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import { Proxy } from '@holdfast/servers/proxy'
import { openClient, openClusterClient, openSentinelClient } from '@holdfast/servers/redis-clients'
import { startRedis } from '@holdfast/servers/redis'
import { startCluster } from '@holdfast/servers/redis-cluster'
import { startSentinels } from '@holdfast/servers/redis-sentinel'
import { LIBRARIES } from './support/world.js'

const server = await startRedis()
const ends: (() => unknown)[] = []

afterAll(async () => {
  for (const end of ends.toReversed()) await end()
  await server.stop()
})

/** As much of a lease as the fence looks at. */
const leaseWith = (token: bigint, claimId = 'owner'): Lease =>
  ({ name: 'lock', token, claimId, exclusive: true }) as never

describe.each(LIBRARIES)('through %s', (library) => {
  const { client, end } = openClient(library, server.url)
  ends.push(end)
  const resource = `{it's} a %7B 🔒 resource of ${library}`

  test('tokens only grow, from any store', async () => {
    const locks = createLocks(redisStore({ client }))
    ends.push(() => locks.close())
    const early = await locks.mutex(library).acquire()
    await assertFence(client, early, resource)
    await assertFence(client, early, resource)
    await early.release()
    const late = await locks.mutex(library).acquire()
    await assertFence(client, late, resource)
    await expect(assertFence(client, early, resource)).rejects.toMatchObject({
      code: 'STALE_TOKEN',
      lock: library,
    })
    await assertFence(client, early, 'another resource')
    await late.release()
  })

  test('an adopter is accepted, and the exporter is refused from then on', async () => {
    const [exporter, adopter] = [redisStore({ client }), redisStore({ client })].map((store) =>
      createLocks(store),
    ) as [Locks, Locks]
    ends.push(() => Promise.all([exporter.close(), adopter.close()]))
    const name = `passed on through ${library}`
    const write = (lease: Lease): Promise<unknown> =>
      fencedWrite(client, lease, name, [['SET', name, String(lease.token)]])
    const lease = await exporter.mutex(name).acquire()
    await write(lease)
    const handle = await lease.export()
    await write(lease)
    const adopted = await adopter.mutex(name).adopt(handle)
    await write(adopted)
    await expect(write(lease)).rejects.toMatchObject({ code: 'STALE_TOKEN' })
    await assertFence(client, adopted, name)
    expect(await adopted.release()).toBe('released')
  })

  test('writes are made with a token that is not late, and with no other', async () => {
    const key = `stock of ${library}`
    const [early, late] = [leaseWith(99n, 'early'), leaseWith(100n, 'late')]
    const write = (lease: Lease, value: string) =>
      fencedWrite(client, lease, key, [
        ['SET', key, value],
        ['GET', key],
      ])
    expect(String((await write(early, 'one'))[1])).toBe('one')
    expect(String((await write(late, 'two'))[1])).toBe('two')
    await expect(write(early, 'three')).rejects.toMatchObject({ code: 'STALE_TOKEN' })
    // The same token from another owner: one of the two was granted it by a store that forgot.
    await expect(write(leaseWith(100n, 'other'), 'four')).rejects.toMatchObject({
      code: 'STALE_TOKEN',
    })
    expect(String((await fencedWrite(client, late, key, [['GET', key]]))[0])).toBe('two')
  })

  test('tokens beyond 2^53 are distinguished', async () => {
    const [one, next] = [9_007_199_254_740_993n, 9_007_199_254_740_994n]
    await assertFence(client, leaseWith(next), `large ${library}`)
    await expect(assertFence(client, leaseWith(one), `large ${library}`)).rejects.toMatchObject({
      code: 'STALE_TOKEN',
    })
    await assertFence(client, leaseWith(10n ** 18n), `large ${library}`)
  })

  test('works after the scripts of the server were forgotten', async () => {
    await server.command('SCRIPT', 'FLUSH')
    await assertFence(client, leaseWith(1n), `flushed ${library}`)
  })

  test('refuses leases that others may share, and what makes no sense', async () => {
    const locks = createLocks(redisStore({ client }))
    ends.push(() => locks.close())
    const usage = { code: 'LOCK_USAGE' }
    const reader = await locks.readWriteLock(`read ${library}`).read.acquire()
    const permit = await locks.semaphore(`permit ${library}`, { permits: 2 }).acquire()
    for (const lease of [reader, permit]) {
      await expect(assertFence(client, lease, resource)).rejects.toMatchObject(usage)
      await expect(fencedWrite(client, lease, resource, [])).rejects.toMatchObject(usage)
    }
    await expect(assertFence(client, leaseWith(1n), '')).rejects.toMatchObject(usage)
    await expect(assertFence(undefined as never, leaseWith(1n), resource)).rejects.toMatchObject(
      usage,
    )
    for (const commands of [[[]], [['SET', 1]], 'SET', [undefined]]) {
      const refused = fencedWrite(client, leaseWith(1n), resource, commands as never)
      await expect(refused).rejects.toMatchObject(usage)
    }
  })

  test('reports which command failed, and what became of the others', async () => {
    const key = `failing ${library}`
    const before: RedisCommand = ['SET', key, 'text']
    for (const wrong of [
      ['HSET', key, 'field', 'value'],
      ['SET', key],
      ['NO SUCH COMMAND'],
    ] as RedisCommand[]) {
      await server.command('DEL', key, `behind ${key}`)
      const failed = fencedWrite(client, leaseWith(1n), key, [
        before,
        wrong,
        ['SET', `behind ${key}`, 'text'],
      ])
      await expect(failed).rejects.toMatchObject({ code: 'LOCK_USAGE', lock: 'lock' })
      await expect(failed).rejects.toThrow(
        /command 2 of 3 failed .*: (WRONGTYPE|ERR) .* stays, and those behind/,
      )
      expect(await server.command('GET', key)).toContain('text')
      expect(await server.command('EXISTS', `behind ${key}`)).toBe(':0\r\n')
    }
    await expect(assertFence(client, leaseWith(0n), key)).rejects.toMatchObject({
      code: 'STALE_TOKEN',
    })
    // More than Lua passes on at once.
    const long = [
      'RPUSH',
      key,
      ...Array.from({ length: 9000 }, () => 'x'),
    ] as unknown as RedisCommand
    await expect(fencedWrite(client, leaseWith(1n), key, [long])).rejects.toMatchObject({
      code: 'LOCK_USAGE',
    })
    const most = [
      'RPUSH',
      `list ${key}`,
      ...Array.from({ length: 7898 }, () => 'x'),
    ] as unknown as RedisCommand
    expect(Number((await fencedWrite(client, leaseWith(1n), key, [most]))[0])).toBe(7898)
  })

  test('a server that is full is not taken for a wrong command', async () => {
    await assertFence(client, leaseWith(1n), `full ${library}`)
    await server.command('CONFIG', 'SET', 'maxmemory', '1mb')
    try {
      const failed = fencedWrite(client, leaseWith(1n), `full ${library}`, [
        ['SET', `full ${library}`, 'x'],
      ])
      await expect(failed).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', lock: 'lock' })
    } finally {
      await server.command('CONFIG', 'SET', 'maxmemory', '0')
    }
  })

  test('a server that hangs is not waited for longer than five seconds', async () => {
    await assertFence(client, leaseWith(1n), `hung ${library}`)
    server.pause()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const failures = [
        fencedWrite(client, leaseWith(1n), `hung ${library}`, [['SET', `hung ${library}`, 'x']]),
        assertFence(client, leaseWith(1n), `hung ${library}`),
      ].map((call) =>
        expect(call).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', lock: 'lock' }),
      )
      vi.advanceTimersByTime(5000)
      await Promise.all(failures)
    } finally {
      vi.useRealTimers()
      server.resume()
    }
  })

  test('reports a key that holds something else', async () => {
    await server.command('SET', `hf:fence:{text ${library}}`, 'text')
    await server.command('LPUSH', `hf:fence:{list ${library}}`, 'text')
    for (const name of ['text', 'list']) {
      const failed = assertFence(client, leaseWith(1n), `${name} ${library}`)
      await expect(failed).rejects.toMatchObject({ code: 'STORE_CONFIG' })
    }
  })
})

/**
 * A client of ioredis, which sends again what was not answered, and what its connection goes
 * through.
 */
async function openThroughProxy(): Promise<{ proxy: Proxy; client: RedisClient }> {
  const proxy = await Proxy.to(server.port)
  ends.push(() => proxy.close())
  const { client, ready, end } = openClient('ioredis6', `redis://127.0.0.1:${proxy.port}`)
  ends.push(end)
  await ready
  return { proxy, client }
}

const count = async (key: string): Promise<number> =>
  Number((await server.command('GET', key)).split('\r\n')[1])

const writeSince = (through: RedisClient, token: bigint) =>
  fencedWrite(through, leaseWith(token), 'since', [['INCR', 'since']])

describe('a call that the library sends again, since the connection broke before the answer', () => {
  const inDoubt = { code: 'STORE_UNAVAILABLE', name: 'StoreUnavailableError', lock: 'lock' }

  test('is not done twice, and that is reported', async () => {
    const { proxy, client } = await openThroughProxy()
    const write = () => fencedWrite(client, leaseWith(1n), 'twice', [['INCR', 'twice']])
    expect(await write()).toEqual([1])
    proxy.faults.cutReplyAt = 0
    const failed = write()
    await expect(failed).rejects.toMatchObject(inDoubt)
    await expect(failed).rejects.toThrow(/sent the commands again/)
    expect(await count('twice')).toBe(2)
    expect(await write()).toEqual([3])
  })

  test('is not taken for late when a later holder has written since', async () => {
    const { proxy, client } = await openThroughProxy()
    const { client: other, end } = openClient('redis6', server.url)
    ends.push(end)
    await writeSince(client, 1n)
    proxy.faults.cutReplyAt = 0
    proxy.faults.refuse = true
    const failed = expect(writeSince(client, 1n)).rejects.toMatchObject(inDoubt)
    await eventually('it has arrived', async () => (await count('since')) === 2, { withinMs: 3000 })
    await writeSince(other, 2n)
    proxy.heal()
    await failed
    expect(await count('since')).toBe(3)
    // One that is sent for the first time is late.
    await expect(writeSince(client, 1n)).rejects.toMatchObject({ code: 'STALE_TOKEN' })
  })

  test('is done once also when it fails halfway', async () => {
    const { proxy, client } = await openThroughProxy()
    const write = () =>
      fencedWrite(client, leaseWith(1n), 'halfway', [['INCR', 'halfway'], ['NO SUCH COMMAND']])
    await expect(write()).rejects.toThrow(/command 2 of 2 failed/)
    proxy.faults.cutReplyAt = 0
    await expect(write()).rejects.toMatchObject(inDoubt)
    expect(await count('halfway')).toBe(2)
  })

  test('is remembered for a while, and only a number of them', async () => {
    const { client, end } = openClient('ioredis6', server.url)
    ends.push(end)
    // Each call has five seconds: all at once would not have them on a busy machine.
    for (let sent = 0; sent < 4200; sent += 100) {
      const calls = Array.from({ length: 100 }, () =>
        fencedWrite(client, leaseWith(1n), 'many', [['INCR', 'many']]),
      )
      await Promise.all(calls)
    }
    expect(await server.command('ZCARD', 'hf:fence:{many}:c')).toBe(':4096\r\n')
    expect(Number((await server.command('PTTL', 'hf:fence:{many}:c')).slice(1))).toBeGreaterThan(0)
  })

  test('a server that is full still does what needs no room', async () => {
    const { client, end } = openClient('ioredis6', server.url)
    ends.push(end)
    await fencedWrite(client, leaseWith(1n), 'room', [['SET', 'room', 'x']])
    await server.command('CONFIG', 'SET', 'maxmemory', '1mb')
    try {
      expect(await fencedWrite(client, leaseWith(1n), 'room', [['DEL', 'room']])).toEqual([1])
      expect(await fencedWrite(client, leaseWith(1n), 'room', [['GET', 'room']])).toEqual([null])
    } finally {
      await server.command('CONFIG', 'SET', 'maxmemory', '0')
    }
  })
})

describe('where there is more than one server', () => {
  test('the client of a Cluster finds the member that has the resource', async () => {
    const cluster = await startCluster()
    ends.push(() => cluster.stop())
    for (const library of LIBRARIES) {
      for (const keyPrefix of [undefined, 'app:']) {
        const settings = keyPrefix === undefined ? {} : { keyPrefix }
        const { client, ready, end } = openClusterClient(library, cluster.ports, settings)
        ends.push(end)
        await ready
        // Enough that each member has some.
        for (let index = 0; index < 12; index += 1) {
          const resource = `${library} ${keyPrefix ?? ''}${index}`
          const key = `{${resource}}`
          await assertFence(client, leaseWith(1n), resource)
          const replies = await fencedWrite(client, leaseWith(2n), resource, [
            ['SET', key, 'two'],
            ['GET', key],
          ])
          expect(String(replies[1])).toBe('two')
          await expect(assertFence(client, leaseWith(1n), resource)).rejects.toMatchObject({
            code: 'STALE_TOKEN',
          })
          const member = await cluster.ownerOf(`${keyPrefix ?? ''}hf:fence:{${resource}}`)
          expect(
            await member.server.command('GET', `${keyPrefix ?? ''}hf:fence:{${resource}}`),
          ).toContain('2 owner')
        }
        await Promise.all(cluster.members.map((member) => member.server.command('SCRIPT', 'FLUSH')))
        await assertFence(client, leaseWith(3n), `${library} ${keyPrefix ?? ''}0`)
      }
    }
  })

  test('a Cluster, keys in other slots than the resource: LOCK_USAGE, and nothing is written', async () => {
    const cluster = await startCluster()
    ends.push(() => cluster.stop())
    for (const library of LIBRARIES) {
      const { client, ready, end } = openClusterClient(library, cluster.ports)
      ends.push(end)
      await ready
      const resource = `stock of ${library}`
      const near = `{${resource}}:count`
      const commands: RedisCommand[] = [['SET', near, 'one']]
      // Some are on the same member, which would let a script through.
      for (let index = 0; index < 6; index += 1) {
        const far = `${library} ${index}`
        for (const keys of [undefined, [near, far]]) {
          const writes = fencedWrite(
            client,
            leaseWith(1n),
            resource,
            [...commands, ['SET', far, '1']],
            { keys },
          )
          await expect(writes).rejects.toMatchObject({
            code: 'LOCK_USAGE',
            message: expect.stringContaining('in another slot of the Cluster') as string,
          })
        }
      }
      const owner = await cluster.ownerOf(near)
      expect(await owner.server.command('EXISTS', near, `hf:fence:{${resource}}`)).toMatch(/^:0/)
      await fencedWrite(client, leaseWith(1n), resource, commands, { keys: [near] })
      expect(await owner.server.command('GET', near)).toContain('one')
    }
  })

  test('a client of Sentinels will do', async () => {
    const group = await startSentinels()
    ends.push(() => group.stop())
    for (const library of LIBRARIES) {
      const { client, ready, end } = openSentinelClient(library, {
        name: group.name,
        ports: group.sentinelPorts,
      })
      ends.push(end)
      await ready
      await assertFence(client, leaseWith(2n), library)
      await fencedWrite(client, leaseWith(3n), library, [['SET', library, 'three']])
      await expect(assertFence(client, leaseWith(1n), library)).rejects.toMatchObject({
        code: 'STALE_TOKEN',
      })
    }
  })
})
