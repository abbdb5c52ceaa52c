/** The locks of the process. A development server of Next loads this module again and again. */
import { createLocks } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { Redis } from 'ioredis'

export const locks = (globalThis.locks ??= createLocks(
  redisStore({ client: new Redis(process.env.REDIS_URL ?? 'redis://localhost:6379') }),
))
