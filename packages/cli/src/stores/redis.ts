/**
 * `redis:` and `rediss:` URLs: one Redis server. The client library is the user's own, ioredis or node-redis: that of the
 * folder in which the command line was started, or one that is installed beside it.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { redisStore, type IoRedisClient, type NodeRedisClient, type RedisClient } from 'holdfast/redis'
import type { Store } from 'holdfast/store'
import { ConfigError, UsageError } from '../cli-error.js'
import { redact } from '../output/text.js'

/** A client of our own, and what closes it. */
interface Connection {
  readonly client: RedisClient
  close(): void
}

interface IoRedis {
  readonly Redis: new (
    url: string,
    options: object,
  ) => IoRedisClient & { on(event: 'error', listener: () => void): unknown; disconnect(): void }
}

interface NodeRedis {
  createClient(options: { readonly url: string }): NodeRedisClient & {
    connect(): Promise<unknown>
    destroy(): void
  }
}

/** In the order in which they are looked for. */
const LIBRARIES = new Map<string, (module: unknown, url: string) => Connection>([
  ['ioredis', (module, url) => fromIoRedis(module as IoRedis, url)],
  ['redis', (module, url) => fromNodeRedis(module as NodeRedis, url)],
])

export async function open(url: string): Promise<Store> {
  checkUrl(url)
  const connection = await connect(url)
  const store = redisStore({ client: connection.client })
  const closeStore = store.close.bind(store)
  // The store never closes a client that it was given; this one was made for it alone.
  return Object.assign(store, {
    async close() {
      await closeStore()
      connection.close()
    },
  })
}

function checkUrl(url: string): void {
  const form = 'redis://user:password@host:6379/0'
  let parsed: URL
  try {
    parsed = new URL(url)
  } catch {
    throw new UsageError(`${redact(url)} is no URL of a Redis server. Write one such as ${redact(form)}.`)
  }
  if (parsed.hostname === '' || !/^(?:\/\d*)?$/.test(parsed.pathname)) {
    throw new UsageError(`${redact(url)} names no Redis server. Write a URL such as ${redact(form)}.`)
  }
  if (parsed.search !== '' || parsed.hash !== '') {
    throw new UsageError(`${redact(url)} has options, and a Redis URL has none here.`)
  }
}

async function connect(url: string): Promise<Connection> {
  for (const [name, make] of LIBRARIES) {
    const module = await findModule(name)
    if (module !== undefined) return make(module, url)
  }
  throw new ConfigError(
    'A Redis store needs a client library, and none was found. ' +
      'Run "npm install ioredis" in this folder, or install it beside holdfast.',
  )
}

/** Looks where the user is, then where this program is. */
async function findModule(name: string): Promise<unknown> {
  for (const from of [pathToFileURL(join(process.cwd(), 'holdfast')).href, import.meta.url]) {
    let path: string
    try {
      path = createRequire(from).resolve(name)
    } catch {
      continue
    }
    const module = (await import(pathToFileURL(path).href)) as { readonly default?: unknown }
    return module.default ?? module
  }
  return undefined
}

function fromIoRedis({ Redis }: IoRedis, url: string): Connection {
  const client = new Redis(url, { connectionName: 'holdfast' })
  // The store hears of it, and says so in words of its own.
  client.on('error', () => undefined)
  return { client, close: () => client.disconnect() }
}

function fromNodeRedis(library: NodeRedis, url: string): Connection {
  const client = library.createClient({ url })
  client.on('error', () => undefined)
  client.connect().catch(() => undefined)
  return {
    client,
    close() {
      if (client.isOpen) client.destroy()
    },
  }
}
