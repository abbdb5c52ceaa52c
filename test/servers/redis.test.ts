/** A redis-server starts, answers, keeps or forgets, and goes away. */
import { existsSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { startRedis, type RedisServer } from '@holdfast/servers/redis'

const started: RedisServer[] = []

afterEach(async () => {
  for (const server of started.splice(0)) await server.stop()
})

async function start(options?: Parameters<typeof startRedis>[0]): Promise<RedisServer> {
  const server = await startRedis(options)
  started.push(server)
  return server
}

test('a redis-server answers, and is gone after its end', async () => {
  const server = await start()
  expect(await server.command('SET', 'a key', 'a value')).toBe('+OK\r\n')
  expect(await server.command('GET', 'a key')).toBe('$7\r\na value\r\n')
  const folder = (await server.command('CONFIG', 'GET', 'dir')).split('\r\n')[4] as string
  expect(existsSync(folder)).toBe(true)
  await server.stop()
  expect(existsSync(folder)).toBe(false)
  await expect(server.command('PING')).rejects.toThrow('ECONNREFUSED')
})

test('a killed redis-server comes back with what it kept, and without what it did not', async () => {
  for (const appendOnly of [true, false]) {
    const server = await start({ appendOnly })
    await server.command('SET', 'key', 'value')
    await server.kill()
    await server.start()
    expect(await server.command('EXISTS', 'key')).toBe(appendOnly ? ':1\r\n' : ':0\r\n')
  }
})

test('a redis-server with a password asks for it', async () => {
  const server = await start({ password: 'open sesame' })
  expect(await server.command('PING')).toBe('+PONG\r\n')
})

test('a server that cannot start says why', async () => {
  await expect(startRedis({ config: [['no-such-setting', '1']] })).rejects.toThrow(
    /no-such-setting/,
  )
})
