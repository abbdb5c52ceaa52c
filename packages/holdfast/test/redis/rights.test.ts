/** A user without rights: the advice contains the prefixes of the store and of its client. */
import { createLocks, type Lease } from 'holdfast'
import { assertFence, fencedWrite } from 'holdfast/fence'
import { redisStore } from 'holdfast/redis'
import { redlockStore } from 'holdfast/redlock'
import { Redis } from 'ioredis6'
import { createClient } from 'redis6'
import { afterAll, expect, test } from 'vitest'
import { startRedis } from '@holdfast/servers/redis'
import { after } from '../../../../test/support/after.js'

const server = await startRedis()
afterAll(() => server.stop())
await server.command('ACL', 'SETUSER', 'clerk', 'on', '>word', '~nothing', 'resetchannels', '+@all')
await server.command('ACL', 'SETUSER', 'stranger', 'on', '>word', '~*', 'resetchannels', '+@all')

function ioredis(username: string): Redis {
  const client = new Redis({
    port: server.port,
    username,
    password: 'word',
    keyPrefix: 'app:',
  })
  after(() => client.disconnect())
  return client
}

const OPEN = {
  ioredis: () => redisStore({ client: ioredis('clerk'), prefix: 'shop' }),
  'node-redis': () => {
    const client = createClient({
      url: server.url,
      username: 'clerk',
      password: 'word',
      keyPrefix: 'app:',
    })
    client.on('error', () => undefined)
    client.connect().catch(() => undefined)
    after(() => client.destroy())
    return redisStore({ client, prefix: 'shop' })
  },
  Redlock: () =>
    redlockStore({ clients: ['clerk', 'clerk', 'clerk'].map(ioredis), prefix: 'shop' }),
}

const ADVICE = /~app:shop:\* &app:shop:\*/

test.each(Object.keys(OPEN) as (keyof typeof OPEN)[])(
  '%s: acquire and inspect name the rights that are missing',
  async (name) => {
    const locks = createLocks(OPEN[name]())
    after(() => locks.close({ graceMs: 0 }))
    const refused = locks.mutex('a').acquire({ waitMs: 20_000 })
    await expect(refused).rejects.toMatchObject({ code: 'STORE_AUTH' })
    await expect(refused).rejects.toThrow(ADVICE)
    await expect(locks.mutex('a').inspect()).rejects.toThrow(ADVICE)
  },
)

test('a waiter without access to the channel learns which right is missing', async () => {
  const store = redisStore({ client: ioredis('stranger'), prefix: 'shop' })
  after(() => store.close())
  const claim = { lock: 'a', id: 'waiter' }
  const watch = store.watch(claim as never, () => undefined)
  after(() => watch.close())
  await expect(watch.ready).rejects.toThrow(ADVICE)
})

test('a fence names the rights that are missing', async () => {
  const lease = { name: 'a', token: 1n, claimId: 'owner', exclusive: true } as unknown as Lease
  const [client, options] = [ioredis('clerk'), { prefix: 'shop' }]
  const refused = { code: 'STORE_AUTH', message: expect.stringMatching(ADVICE) as string }
  await expect(assertFence(client, lease, 'stock', options)).rejects.toMatchObject(refused)
  const write = fencedWrite(client, lease, 'stock', [['SET', 'app:shop:stock', '1']], options)
  await expect(write).rejects.toMatchObject(refused)
})
