/** One address that leads to a member of no use, and later to another one. */
import { createServer, type Http2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { startEtcd } from '@holdfast/servers/etcd'
import {
  after,
  makeClaim,
  openLocks,
  openProxy,
  openStore,
  QUEUE,
  renewed,
} from './support/world.js'

const TIMEOUT = { timeout: 60_000 }

/** A member that answers all requests with a status. */
async function startUseless(status: number, message: string): Promise<number> {
  const server: Http2Server = createServer()
  server.on('stream', (stream) => {
    stream.on('error', () => undefined)
    stream.respond(
      {
        ':status': 200,
        'content-type': 'application/grpc',
        'grpc-status': String(status),
        'grpc-message': message,
      },
      { endStream: true },
    )
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  after(() => new Promise<void>((resolve) => void server.close(() => resolve())))
  return (server.address() as AddressInfo).port
}

test('clients follow an address away from a member that has no leader', TIMEOUT, async () => {
  const cluster = await startEtcd()
  after(() => cluster.stop())
  const [direct = ''] = cluster.endpoints
  const useless = await startUseless(14, 'etcdserver: no leader')
  const { proxy, endpoints } = await openProxy(direct)
  const member = proxy.target
  const locks = openLocks({ endpoints }, { ttlMs: 30_000 })
  const lease = await locks.mutex('moves').acquire()
  const waiting = openLocks({ endpoints }, { ttlMs: 30_000 }).mutex('moves').acquire()
  waiting.catch(() => undefined)
  proxy.target = useless
  proxy.reset()
  await expect(lease.renew()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(lease.held).toBe(true)
  // No connection breaks from here on.
  proxy.target = member
  await renewed(lease)
  expect(await lease.release()).toBe('released')
  const next = await waiting
  expect(await next.release()).toBe('released')
})

test('a member that only learns is passed over', TIMEOUT, async () => {
  const cluster = await startEtcd()
  after(() => cluster.stop())
  const learner = await startUseless(9, 'etcdserver: rpc not supported for learner')
  const store = openStore({ endpoints: [`http://127.0.0.1:${learner}`, ...cluster.endpoints] })
  const claim = makeClaim('learner')
  expect(await store.attempt(claim, QUEUE)).toMatchObject({ outcome: 'granted' })
  expect(await store.withdraw(claim)).toBe('released')
})
