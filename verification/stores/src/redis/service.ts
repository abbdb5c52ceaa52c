/** Redis as tests start and open it. */
import { startRedis, type RedisServer } from '@holdfast/servers/redis'
import type { OpenOptions, OpenStore, RunningService } from '../descriptor.js'
import { ofMembers } from '../service.js'
import type { Library } from './clients.js'

/** Instead of a client library: requests to a bridge in the same process. */
export const OVER_HTTP = 'http'

/** Servers that write each change to a log before they answer, and know nothing of each other. */
export function startServers(count: number): Promise<RedisServer[]> {
  return Promise.all(Array.from({ length: count }, () => startRedis({ appendOnly: true })))
}

export function serviceOf(servers: readonly RedisServer[]): RunningService {
  return ofMembers(
    servers.map(({ url }) => url),
    servers.map((server) => ({ crash: () => server.kill(), start: () => server.start() })),
    () => Promise.all(servers.map((server) => server.stop())),
  )
}

/** @param where as `openAny` takes it: a URL, Sentinels, or members of a Cluster */
export async function openRedis(
  [where = '']: readonly string[],
  { library, load }: OpenOptions,
): Promise<OpenStore> {
  const { redisStore } = await load<typeof import('holdfast/redis')>('redis')
  if (library === OVER_HTTP) {
    const { startRestBridge } = await import('@holdfast/servers/redis-rest')
    const bridge = await startRestBridge(where)
    const { url, token } = bridge
    return { store: redisStore({ url, token }), end: () => bridge.stop() }
  }
  const { client, ...rest } = await openClientOf(library as Library, where)
  return { store: redisStore({ client }), ...rest }
}

type OpenedClient = Required<Omit<OpenStore, 'store'>> & {
  readonly client: import('holdfast/redis').RedisClient
}

/** Connects a client, which its program can end in two ways. */
export async function openClientOf(library: Library, where: string): Promise<OpenedClient> {
  const { openAny } = await import('@holdfast/servers/redis-clients')
  const { client, ready, end } = openAny(library, where)
  return { client, ready: () => ready, end, quit: async () => void (await quit(client)) }
}

/** The libraries have names of their own for it. */
async function quit(client: object): Promise<unknown> {
  if ('quit' in client) return (client as { quit(): unknown }).quit()
  return (client as { close(): unknown }).close()
}
