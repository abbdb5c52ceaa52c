/**
 * A server that takes its welcome back in the same packet, as one does that is stopped just then.
 */
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { createLocks } from 'holdfast'
import { postgresStore } from 'holdfast/postgres'
import { Pool } from 'pg'
import { expect, test } from 'vitest'

const AUTHENTICATED = message('R', Buffer.from([0, 0, 0, 0]))
const READY = message('Z', Buffer.from('I'))
const TERMINATED = message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection\0\0'))

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

// An uncaught exception fails the run.
test('a connection that is lost with its first packet rejects, and ends nothing else', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end(Buffer.concat([AUTHENTICATED, READY, TERMINATED])))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const pool = new Pool({ host: '127.0.0.1', port, user: 'u', database: 'd' })
  pool.on('error', () => undefined)
  const locks = createLocks(postgresStore({ pool, requestTimeoutMs: 1000 }), { ttlMs: 500 })
  await expect(locks.mutex('a').tryAcquire()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await locks.close({ graceMs: 0 })
  await pool.end()
  server.close()
})
