/** Certificates that a client does not accept: an error at once at first, an outage later. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { createServer, type Server } from 'node:tls'
import { createLocks, type Locks } from 'holdfast'
import { etcdStore } from 'holdfast/etcd'
import { redisStore } from 'holdfast/redis'
import { redlockStore } from 'holdfast/redlock'
import type { Store } from 'holdfast/store'
import { openStore } from 'holdfast/url'
import { Cluster, Redis } from 'ioredis6'
import { createClient, createCluster } from 'redis6'
import { afterAll, expect, test } from 'vitest'
import { startEtcd } from '@holdfast/servers/etcd'
import { makeFolder, removeFolder } from '@holdfast/servers/folders'
import { startRedis } from '@holdfast/servers/redis'
import { startCluster } from '@holdfast/servers/redis-cluster'
import { after } from '../../../../test/support/after.js'

const folder = makeFolder('certificates')
const [redis, etcd] = await Promise.all([startRedis(), startEtcd()])
afterAll(async () => {
  removeFolder(folder)
  await Promise.all([redis.stop(), etcd.stop()])
})

interface Certificate {
  readonly key: string
  readonly cert: string
}

/** Returns a certificate that is its own authority. */
function certificateFor(name: string, days: number): Certificate {
  const [key, cert] = [join(folder, `${name}.key`), join(folder, `${name}.pem`)]
  const files = ['-keyout', key, '-out', cert]
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files, ...subject]
  execFileSync('openssl', [...args, '-days', String(days)], { stdio: 'pipe' })
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
}

const good = certificateFor('localhost', 2)
const other = certificateFor('elsewhere', 2)

interface Encrypted {
  readonly server: Server
  readonly port: number
  breakAll(): void
}

/** Speaks TLS before a real server. */
async function encrypt(port: number, certificate: Certificate): Promise<Encrypted> {
  const sockets = new Set<Socket>()
  const server = createServer({ ...certificate, ALPNProtocols: ['h2'] }, (secure) => {
    const plain = connect(port, '127.0.0.1')
    for (const socket of [secure, plain]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        secure.destroy()
        plain.destroy()
      })
    }
    secure.pipe(plain).pipe(secure)
  })
  server.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const breakAll = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  after(() => {
    breakAll()
    server.close()
  })
  return { server, port: (server.address() as AddressInfo).port, breakAll }
}

const ioredis = (port: number, ca?: string): Redis => {
  const client = new Redis({ host: '127.0.0.1', port, tls: { ca, servername: 'localhost' } })
  client.on('error', () => undefined)
  after(() => client.disconnect())
  return client
}

const STORES: Readonly<Record<string, (port: number, ca?: string) => Promise<Store> | Store>> = {
  ioredis: (port, ca) => redisStore({ client: ioredis(port, ca) }),
  'node-redis': (port, ca) => {
    const socket = { host: '127.0.0.1', port, tls: true as const, servername: 'localhost' }
    const client = createClient({ socket: ca === undefined ? socket : { ...socket, ca } })
    client.on('error', () => undefined)
    client.connect().catch(() => undefined)
    after(() => client.destroy())
    return redisStore({ client })
  },
  Redlock: (port, ca) =>
    redlockStore({ clients: [ioredis(port, ca), ioredis(port, ca), ioredis(port, ca)] }),
  etcd: (port, ca) =>
    etcdStore({
      endpoints: [`https://127.0.0.1:${port}`],
      tls: ca === undefined ? {} : { ca, serverName: 'localhost' },
    }),
}

const portOf = (name: string): number =>
  name === 'etcd' ? Number(new URL(etcd.endpoints[0] ?? '').port) : redis.port

async function locksOf(store: Promise<Store> | Store): Promise<Locks> {
  const locks = createLocks(await store)
  after(() => locks.close({ graceMs: 0 }))
  return locks
}

async function refusedAtOnce(store: Promise<Store> | Store): Promise<void> {
  const locks = await locksOf(store)
  const startMs = performance.now()
  const refused = locks.mutex('refused').acquire({ waitMs: 30_000 })
  await expect(refused).rejects.toMatchObject({
    code: 'STORE_AUTH',
    message: expect.stringContaining('Give the client the certificate') as string,
  })
  expect(performance.now() - startMs).toBeLessThan(15_000)
}

const stores = Object.entries(STORES)

test.each(stores)('%s, an unknown authority: STORE_AUTH at once', async (name, open) => {
  const { port } = await encrypt(portOf(name), good)
  await refusedAtOnce(open(port))
})

test.each(stores)('%s, the certificate of another host: STORE_AUTH at once', async (name, open) => {
  const { port } = await encrypt(portOf(name), other)
  await refusedAtOnce(open(port, other.cert))
})

test('a URL of Redis, an unknown authority: STORE_AUTH at once', async () => {
  const { port } = await encrypt(redis.port, good)
  await refusedAtOnce(openStore(`rediss://127.0.0.1:${port}`))
})

test.each(stores.filter(([name]) => name !== 'Redlock'))(
  '%s, a certificate that changes after a success: an outage',
  async (name, open) => {
    const { server, port, breakAll } = await encrypt(portOf(name), good)
    const locks = await locksOf(open(port, good.cert))
    await (await locks.mutex(`before ${name}`).acquire({ waitMs: 10_000 })).release()
    server.setSecureContext(other)
    breakAll()
    const lock = locks.mutex(`during ${name}`)
    await expect(lock.tryAcquire()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    const waiting = lock.acquire({ waitMs: 30_000 })
    server.setSecureContext(good)
    expect((await waiting).held).toBe(true)
  },
)

/** Clients of a Cluster that reach each member through TLS, by its address. */
const CLUSTERS: Readonly<Record<string, (ports: ReadonlyMap<number, number>) => Store>> = {
  ioredis: (ports) => {
    const natMap = Object.fromEntries(
      [...ports].map(([port, tls]) => [`127.0.0.1:${port}`, { host: '127.0.0.1', port: tls }]),
    )
    const nodes = [...ports.values()].map((port) => ({ host: '127.0.0.1', port }))
    const tls = { ca: good.cert, servername: 'localhost' }
    const client = new Cluster(nodes, { natMap, redisOptions: { tls } })
    client.on('error', () => undefined)
    after(() => client.disconnect())
    return redisStore({ client, requestTimeoutMs: 2000 })
  },
  'node-redis': (ports) => {
    const socket = { tls: true as const, servername: 'localhost', ca: good.cert }
    const client = createCluster({
      rootNodes: [...ports.values()].map((port) => ({ socket: { host: '127.0.0.1', port } })),
      defaults: { socket },
      nodeAddressMap: (address) => ({
        host: '127.0.0.1',
        port: ports.get(Number(address.split(':')[1])) ?? 0,
      }),
    })
    client.on('error', () => undefined)
    client.connect().catch(() => undefined)
    after(() => client.destroy())
    return redisStore({ client, requestTimeoutMs: 2000 })
  },
}

test.each(Object.keys(CLUSTERS))(
  'a Cluster through %s, certificates that change: an outage',
  async (name) => {
    const cluster = await startCluster()
    after(() => cluster.stop())
    const proxies = new Map<number, Encrypted>()
    for (const port of cluster.ports) proxies.set(port, await encrypt(port, good))
    const store = CLUSTERS[name]?.(new Map([...proxies].map(([port, proxy]) => [port, proxy.port])))
    if (!store) throw new Error(`There is no client ${name}.`)
    const locks = await locksOf(store)
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    await (await locks.mutex('a').acquire({ waitMs: 10_000 })).release()
    for (const { server, breakAll } of proxies.values()) {
      server.setSecureContext(other)
      breakAll()
    }
    // Of every member, also of those that the store has no connection to yet.
    const ends = await Promise.allSettled(names.map((lock) => locks.mutex(lock).tryAcquire()))
    const reason: unknown = expect.objectContaining({ code: 'STORE_UNAVAILABLE' })
    expect(ends).toEqual(names.map(() => ({ status: 'rejected', reason })))
    const waiting = locks.mutex('a').acquire({ waitMs: 30_000 })
    for (const { server } of proxies.values()) server.setSecureContext(good)
    expect((await waiting).held).toBe(true)
  },
)
