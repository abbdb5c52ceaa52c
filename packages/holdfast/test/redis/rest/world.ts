/** A Redis server over HTTP, for the tests of this folder. */
import { redisStore, type RedisStoreOptions } from 'holdfast/redis'
import type { Store } from 'holdfast/store'
import { startRestBridge, type RestBridge, type RestRequest } from '@holdfast/servers/redis-rest'
import { after, closing, startServer } from '../support/world.js'

export { after, makeClaim, QUEUE, take, TRY } from '../support/world.js'

/** A bridge to a server, both there until the end of the test. */
export async function startBridge(): Promise<RestBridge> {
  const bridge = await startRestBridge((await startServer()).url)
  after(() => bridge.stop())
  return bridge
}

export function openOver(
  { url, token }: Pick<RestBridge, 'url' | 'token'>,
  options: RedisStoreOptions = {},
): Store {
  return closing(redisStore({ url, token, ...options }))
}

/** Whether a request runs a script for this lock. */
export function isAbout({ command }: RestRequest, lock: string): boolean {
  return command[3] === `hf:{${lock}}`
}
