/** The client libraries that the Redis store is tried with, in their versions. Plain JavaScript, since workers use it. */
import { Redis as Redis5 } from 'ioredis5'
import { Redis as Redis6 } from 'ioredis6'
import { createClient as createClient5 } from 'redis5'
import { createClient as createClient6 } from 'redis6'

/**
 * @typedef {import('holdfast/redis').RedisClient} RedisClient
 * @typedef {{ client: RedisClient, end: () => void }} OpenClient
 */

export const LIBRARIES = /** @type {const} */ (['ioredis5', 'ioredis6', 'redis5', 'redis6'])

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
      return fromIoRedis(new Redis5(url, options))
    case 'ioredis6':
      return fromIoRedis(new Redis6(url, options))
    case 'redis5':
      return fromNodeRedis(createClient5({ url, ...options }))
    case 'redis6':
      return fromNodeRedis(createClient6({ url, ...options }))
    default:
      throw new Error(`There is no library ${String(library)}.`)
  }
}

function fromIoRedis(client) {
  client.on('error', () => undefined)
  return { client, end: () => client.disconnect() }
}

function fromNodeRedis(client) {
  client.on('error', () => undefined)
  client.connect().catch(() => undefined)
  return { client, end: () => (client.isOpen ? client.destroy() : undefined) }
}
