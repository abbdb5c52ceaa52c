/** The controls' port on a real server, by ioredis. */
import type { RedisPort, Reply } from '@holdfast/controls'
import { Redis } from 'ioredis6'

export interface RealPort extends RedisPort {
  close(): void
}

export function redisPort(port: number): RealPort {
  const redis = new Redis(port, '127.0.0.1')
  // A connection that listens can do nothing else.
  const listening = new Redis(port, '127.0.0.1')
  // What becomes of the connections is seen by what becomes of the requests.
  for (const one of [redis, listening]) one.on('error', () => undefined)
  return {
    command: async (name, ...args) => (await redis.call(name, ...args)) as Reply,
    script: async ({ lua }, keys, args) => (await redis.eval(lua, keys.length, ...keys, ...args)) as Reply,
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
