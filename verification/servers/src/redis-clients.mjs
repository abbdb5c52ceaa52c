/**
 * The client libraries that the Redis store is tried with, in their versions. Plain JavaScript,
 * since workers use it.
 */
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
// Loaded when it is asked for: a worker uses one of them, and to load all three takes longer than
// the rest of its start.
const ioredis5 = () => /** @type {typeof import('ioredis5')} */ (require('ioredis5'))
const ioredis6 = () => /** @type {typeof import('ioredis6')} */ (require('ioredis6'))
const redis6 = () => /** @type {typeof import('redis6')} */ (require('redis6'))

/**
 * @typedef {import('holdfast/redis').RedisClient} RedisClient
 * @typedef {{ client: RedisClient, ready: Promise<unknown>, end: () => void }} OpenClient
 */

export const LIBRARIES = /** @type {const} */ (['ioredis5', 'ioredis6', 'redis6'])

/**
 * Connects a client. Errors of the connection are the store's business here.
 * @param {typeof LIBRARIES[number]} library
 * @param {string} url
 * @param {object} [options] further options in the words of the library
 * @returns {OpenClient}
 */
export function openClient(library, url, options = {}) {
  switch (library) {
    case 'ioredis5':
      return fromIoRedis(new (ioredis5().Redis)(url, options))
    case 'ioredis6':
      return fromIoRedis(new (ioredis6().Redis)(url, options))
    case 'redis6':
      return fromNodeRedis(redis6().createClient({ url, ...options }))
    default:
      throw new Error(`There is no library ${String(library)}.`)
  }
}

/**
 * Connects a client that finds its primary through Sentinels.
 * @param {typeof LIBRARIES[number]} library
 * @param {{ name: string, ports: readonly number[] }} sentinels
 * @param {object} [options] further options in the words of the library
 * @returns {OpenClient}
 */
export function openSentinelClient(library, { name, ports }, options = {}) {
  const nodes = ports.map((port) => ({ host: '127.0.0.1', port }))
  switch (library) {
    case 'ioredis5':
      return fromIoRedis(new (ioredis5().Redis)({ sentinels: nodes, name, ...options }))
    case 'ioredis6':
      return fromIoRedis(new (ioredis6().Redis)({ sentinels: nodes, name, ...options }))
    case 'redis6':
      return fromNodeRedis(redis6().createSentinel({ name, sentinelRootNodes: nodes, ...options }))
    default:
      throw new Error(`There is no library ${String(library)}.`)
  }
}

/**
 * Connects a client of a Cluster.
 * @param {typeof LIBRARIES[number]} library
 * @param {readonly number[]} ports of some members
 * @param {object} [options] further options in the words of the library
 * @returns {OpenClient}
 */
export function openClusterClient(library, ports, options = {}) {
  const nodes = ports.map((port) => ({ host: '127.0.0.1', port }))
  const rootNodes = nodes.map((socket) => ({ socket }))
  switch (library) {
    case 'ioredis5':
      return fromIoRedis(new (ioredis5().Cluster)(nodes, options))
    case 'ioredis6':
      return fromIoRedis(new (ioredis6().Cluster)(nodes, options))
    case 'redis6':
      return fromNodeRedis(redis6().createCluster({ rootNodes, ...options }))
    default:
      throw new Error(`There is no library ${String(library)}.`)
  }
}

/**
 * Connects a client of either kind to an address: `sentinel:NAME:PORT,PORT`,
 * `cluster:PORT,PORT`, or a URL.
 * @param {typeof LIBRARIES[number]} library
 * @param {string} where
 * @returns {OpenClient}
 */
export function openAny(library, where) {
  const [kind, ...rest] = where.split(':')
  const ports = (rest.at(-1) ?? '').split(',').map(Number)
  if (kind === 'sentinel') return openSentinelClient(library, { name: rest[0] ?? '', ports })
  if (kind === 'cluster') return openClusterClient(library, ports)
  return openClient(library, where)
}

function fromIoRedis(client) {
  client.on('error', () => undefined)
  const ready = new Promise((resolve) => client.once('ready', resolve))
  return { client, ready, end: () => client.disconnect() }
}

function fromNodeRedis(client) {
  client.on('error', () => undefined)
  const ready = client.connect().catch(() => undefined)
  // That of a Sentinel client answers with a promise.
  const end = async () => {
    if (client.isOpen) await client.destroy()
  }
  return { client, ready, end: () => void end().catch(() => undefined) }
}
