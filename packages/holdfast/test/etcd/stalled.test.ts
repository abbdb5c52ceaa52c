/**
 * A leader whose disk stalls answers keep-alives from memory, while the other members have elected
 * another.
 */
import { connect, createServer, type ClientHttp2Stream, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startEtcd, type EtcdCluster } from '@holdfast/servers/etcd'
import { after, ask, keys, makeClaim, openStore, QUEUE } from './support/world.js'

let cluster: EtcdCluster

beforeAll(async () => {
  cluster = await startEtcd()
})
afterAll(() => cluster.stop())

/**
 * A member that passes requests on to etcd. From `stall` on it answers keep-alives with this TTL,
 * and nothing else.
 */
async function startMember(endpoint: string, ttlSeconds: number) {
  let stalled: 'no' | 'all' | 'keep-alives' = 'no'
  const etcd = connect(endpoint)
  const server = createServer()
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => undefined)
    const keepsAlive = headers[':path'] === '/etcdserverpb.Lease/LeaseKeepAlive'
    if (stalled === 'no' || (stalled === 'keep-alives' && !keepsAlive)) {
      passOn(stream, etcd.request(headers))
    }
    if (stalled === 'no' || !keepsAlive) return
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc' },
      { waitForTrailers: true },
    )
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    // A header of raft term 1, and the TTL.
    const answer = Buffer.of(0x0a, 2, 0x20, 1, 0x18, ttlSeconds)
    stream.end(Buffer.concat([Buffer.of(0, 0, 0, 0, answer.length), answer]))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  after(async () => {
    etcd.destroy()
    await new Promise((resolve) => void server.close(resolve))
  })
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /**
     * @param what `keep-alives` where one address leads to several members, and the others answer
     * the rest
     */
    stall: (what: 'all' | 'keep-alives' = 'all') => void (stalled = what),
  }
}

function passOn(stream: ServerHttp2Stream, etcd: ClientHttp2Stream): void {
  let trailers = {}
  etcd.on('response', (headers) => stream.respond(headers, { waitForTrailers: true }))
  etcd.on('trailers', (last) => (trailers = last))
  stream.on('wantTrailers', () => stream.sendTrailers(trailers))
  stream.pipe(etcd).pipe(stream)
}

/** A client whose first endpoint leads to that member, and the second one to etcd. */
async function open(ttlSeconds: number) {
  const [endpoint = ''] = cluster.endpoints
  const member = await startMember(endpoint, ttlSeconds)
  const store = openStore({ endpoints: [member.endpoint, endpoint] })
  return { store, member, endpoint }
}

async function sessionLeftMs(endpoint: string, lock: string): Promise<number> {
  const [entry] = await keys(endpoint, `holdfast/locks/${lock}/`)
  const { TTL } = await ask<{ TTL: string }>(endpoint, 'lease/timetolive', { ID: entry?.lease })
  return Number(TTL) * 1000
}

test('renewal counts only when a member that a quorum follows has kept the session alive', async () => {
  const { store, member, endpoint } = await open(11)
  const claim = makeClaim('stalled', { ttlMs: 10_000 })
  expect(await store.attempt(claim, QUEUE)).toMatchObject({ outcome: 'granted' })
  member.stall()
  // The stalled member is given two seconds to answer the look.
  expect(await store.renew([claim])).toEqual([{ outcome: 'renewed' }])
  expect(await sessionLeftMs(endpoint, 'stalled')).toBeGreaterThanOrEqual(10_000)
  expect(await store.withdraw(claim)).toBe('released')
})

test('session that a stalled member does not know is not lost', async () => {
  const { store, member } = await open(0)
  const claim = makeClaim('unknown', { ttlMs: 10_000 })
  expect(await store.attempt(claim, QUEUE)).toMatchObject({ outcome: 'granted' })
  member.stall()
  expect(await store.renew([claim])).toEqual([{ outcome: 'renewed' }])
  expect(await store.withdraw(claim)).toBe('released')
})

test('renewal is in doubt when the keep-alive was answered in an older term than the read before it', async () => {
  const [endpoint = ''] = cluster.endpoints
  const member = await startMember(endpoint, 11)
  const store = openStore({ endpoints: [member.endpoint] })
  const claim = makeClaim('spread', { ttlMs: 10_000 })
  expect(await store.attempt(claim, QUEUE)).toMatchObject({ outcome: 'granted' })
  member.stall('keep-alives')
  const cause = expect.objectContaining({ code: 'STORE_UNAVAILABLE' })
  expect(await store.renew([claim])).toEqual([{ outcome: 'unknown', cause }])
  expect(await store.withdraw(claim)).toBe('released')
})

test('grant counts only when a member that a quorum follows has kept the session alive', async () => {
  const { store, member, endpoint } = await open(11)
  const [first, second] = ['assured', 'assured-2'].map((lock) => makeClaim(lock, { ttlMs: 10_000 }))
  if (!first || !second) throw new Error('There are two claims.')
  expect(await store.attempt(first, QUEUE)).toMatchObject({ outcome: 'granted' })
  // The session is a second longer than its leases. Two seconds later a grant of the whole TTL
  // needs a keep-alive.
  await new Promise((resolve) => setTimeout(resolve, 2100))
  member.stall()
  const granted = await store.attempt(second, QUEUE)
  const leftMs = granted.outcome === 'granted' ? granted.remainingMs : 0
  expect(leftMs).toBeGreaterThan(0)
  expect(await sessionLeftMs(endpoint, 'assured-2')).toBeGreaterThanOrEqual(
    Math.floor(leftMs / 1000) * 1000,
  )
})
