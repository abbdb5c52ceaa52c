/** Clients of Redis, whose libraries take turns. */
import type { LIBRARIES } from '@holdfast/servers/redis-clients'
import type { NewestServer } from '@holdfast/servers/newest'
import { NEWEST_REDIS, NEWEST_VALKEY } from '@holdfast/servers/redis'
import type { Need } from '../descriptor.js'

export type Library = (typeof LIBRARIES)[number]

export const REDIS_NEEDS: readonly Need[] = [['redis-server', 'redis-server']]
export const REDIS_NEWEST: readonly NewestServer[] = [NEWEST_REDIS, NEWEST_VALKEY]

/** @param index of a process */
export async function libraryInTurn(index: number): Promise<Library> {
  const { LIBRARIES: all } = await import('@holdfast/servers/redis-clients')
  return all[index % all.length] ?? all[0]
}

export function redisUrl(port: number | undefined): string {
  return `redis://127.0.0.1:${port ?? 0}`
}
