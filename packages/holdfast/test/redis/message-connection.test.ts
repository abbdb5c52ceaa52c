/** The store's own connection for messages: its retries, and the settings that it takes. */
import { createServer, connect, type AddressInfo, type Socket } from 'node:net'
import { createLocks, onLockEvent } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { Redis } from 'ioredis5'
import { expect, test } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import { after, connectTo, LIBRARIES, startServer } from './support/world.js'

/** A proxy without pub/sub: it hangs up on SUBSCRIBE. */
async function startHangingProxy(port: number) {
  const state = { subscriptions: 0 }
  const sockets = new Set<Socket>()
  const listener = createServer((client) => {
    const server = connect(port, '127.0.0.1')
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
    server.on('data', (bytes) => client.write(bytes))
    client.on('data', (bytes) => {
      if (/\bsubscribe\b/i.test(bytes.toString())) {
        state.subscriptions += 1
        client.destroy()
      } else server.write(bytes)
    })
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  after(() => {
    for (const socket of sockets) socket.destroy()
    listener.close()
  })
  return { state, port: (listener.address() as AddressInfo).port }
}

test.each(LIBRARIES)(
  'proxy that hangs up on SUBSCRIBE gets few connections of %s, and one error reports it',
  async (library) => {
    const server = await startServer()
    const proxy = await startHangingProxy(server.port)
    const client = connectTo(`redis://127.0.0.1:${proxy.port}`, library)
    const locks = createLocks(redisStore({ client }))
    after(() => locks.close())
    const errors: string[] = []
    after(
      onLockEvent('error', ({ error, during }) => {
        if (during === 'watch') errors.push(String(error))
      }),
    )
    const lease = await locks.mutex('lock').acquire()
    const mutex = locks.mutex('lock', { fairness: 'fifo' })
    const startMs = performance.now()
    const waiting = [mutex.acquire(), mutex.acquire(), mutex.acquire()]
    await eventually('it is reported', () => errors.length > 0)
    await eventually('time goes by', () => performance.now() - startMs > 2000)
    expect(proxy.state.subscriptions).toBeLessThan(10)
    expect(errors).toEqual([
      expect.stringMatching(/pub\/sub.*only asks again with each heartbeat/s),
    ])
    // The waiters ask now and then instead.
    await lease.release()
    await (await waiting[0])?.release()
    await (await waiting[1])?.release()
    await (await waiting[2])?.release()
  },
)

test('message connection takes the password that the client has when it connects', async () => {
  const server = await startServer()
  await server.command('ACL', 'SETUSER', 'locker', 'on', '>old', '~*', '&*', '+@all')
  const client = new Redis(server.url.replace('redis://', 'redis://locker:old@'))
  after(() => client.disconnect())
  client.on('error', () => undefined)
  const locks = createLocks(redisStore({ client }))
  after(() => locks.close())
  const lease = await locks.mutex('lock').acquire()
  const waiting = locks.mutex('lock', { fairness: 'fifo' }).acquire()
  const channel = async (): Promise<boolean> =>
    (await server.command('PUBSUB', 'CHANNELS')).includes('hf:')
  await eventually('it listens', channel)
  client.options.password = 'new'
  await server.command('ACL', 'SETUSER', 'locker', 'resetpass', '>new')
  await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub')
  await eventually('it listens again', channel)
  await lease.release()
  expect((await waiting).held).toBe(true)
})
