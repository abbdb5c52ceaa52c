/**
 * Clients of ioredis that end when the Sentinels announce a primary while they are asked for it. A
 * Sentinel of the test does both at the worst moment.
 */
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { createLocks } from 'holdfast'
import { openStore } from 'holdfast/url'
import { expect, test } from 'vitest'
import { eventually } from '@holdfast/servers/eventually'
import type { RedisServer } from '@holdfast/servers/redis'
import { after, startServer } from './support/world.js'

const CHANNEL = '+switch-master'

function bulk(...words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`
}

/** A Sentinel that names one server, and announces a failover whenever it was asked before. */
async function startSentinel(server: RedisServer) {
  const subscribers = new Set<Socket>()
  const state = { announcements: 0, hostile: false }
  const answer = (socket: Socket, text: string): void => {
    if (/subscribe/i.test(text)) {
      subscribers.add(socket)
      socket.write(`*3\r\n$9\r\nsubscribe\r\n$${CHANNEL.length}\r\n${CHANNEL}\r\n:1\r\n`)
    } else if (/get-master-addr/i.test(text)) {
      const address = bulk('127.0.0.1', String(server.port))
      if (!state.hostile || subscribers.size === 0) {
        socket.write(address)
        return
      }
      state.announcements += 1
      for (const subscriber of subscribers) subscriber.write(bulk('message', CHANNEL, 'locks'))
      subscribers.clear()
      setTimeout(() => socket.write(address), 50)
    } else if (/sentinels/i.test(text)) socket.write('*0\r\n')
    else socket.write('+OK\r\n')
  }
  const sockets = new Set<Socket>()
  const listener = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => subscribers.delete(socket))
    let text = ''
    socket.on('data', (bytes) => {
      text += bytes.toString()
      // One command ends where the next one begins.
      const commands = text.split(/(?=\*\d+\r\n\$)/)
      text = ''
      for (const command of commands) answer(socket, command)
    })
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  after(() => {
    for (const socket of sockets) socket.destroy()
    listener.close()
  })
  return { state, subscribers, port: (listener.address() as AddressInfo).port }
}

test('clients of a URL survive a failover that Sentinels announce while they are asked', async () => {
  const server = await startServer()
  const sentinel = await startSentinel(server)
  const locks = createLocks(await openStore(`redis+sentinel://127.0.0.1:${sentinel.port}/locks`))
  after(() => locks.close())
  const lease = await locks.mutex('lock').acquire()
  // Opens the connection for messages.
  const waiting = locks.mutex('lock', { fairness: 'fifo' }).acquire()
  const channel = async (): Promise<boolean> =>
    (await server.command('PUBSUB', 'CHANNELS')).includes('hf:')
  await eventually('it listens', channel)
  await eventually('both connections listen to the Sentinel', () => sentinel.subscribers.size === 2)
  sentinel.state.hostile = true
  await server.command('CLIENT', 'KILL', 'TYPE', 'normal')
  await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub')
  await eventually('it was announced', () => sentinel.state.announcements > 0)
  sentinel.state.hostile = false
  expect(await locks.mutex('other').tryAcquire()).toBeDefined()
  await eventually('it listens again', channel)
  await lease.release()
  expect((await waiting).held).toBe(true)
})
