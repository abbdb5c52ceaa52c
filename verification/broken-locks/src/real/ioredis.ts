/** A connection of a broken lock to a real server, by ioredis. */
import { Redis } from 'ioredis'
import type { RedisConnection, Reply } from '../redis-connection.js'

export interface RealConnection extends RedisConnection {
  close(): void
}

export function connectRedis(url: string): RealConnection {
  const redis = new Redis(url)
  // A connection that listens can do nothing else.
  const listening = new Redis(url)
  // Each request has a limit of its own, and a broken connection shows there.
  for (const client of [redis, listening]) client.on('error', () => {})
  return {
    command: async (name, ...args) => (await redis.call(name, ...args)) as Reply,
    script: async ({ lua }, keys, args) =>
      (await redis.eval(lua, keys.length, ...keys, ...args)) as Reply,
    async subscribe(channel, listener) {
      const hear = (from: string, message: string): void => {
        if (from === channel) listener(message)
      }
      listening.on('message', hear)
      await listening.subscribe(channel)
      return { close: () => void listening.off('message', hear) }
    },
    close() {
      redis.disconnect()
      listening.disconnect()
    },
  }
}
