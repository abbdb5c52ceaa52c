/** ioredis 5 and 6. */
import type { IoRedisClient } from '../clients.js'
import { isServerError } from '../errors.js'
import { repeatedly, retryMs } from './repeatedly.js'
import { watchShared } from './shared-state.js'
import type {
  ChannelConnection,
  ChannelListener,
  OwnConnection,
  StateListener,
  Transport,
} from './transport.js'

export function ioRedisTransport(client: IoRedisClient): Transport {
  return {
    // The library puts it before the keys itself.
    keyPrefix: client.options.keyPrefix ?? '',
    get isReady() {
      return client.status === 'ready'
    },
    run: (by, { sha, source }, keys, args) =>
      client.call(
        by === 'hash' ? 'EVALSHA' : 'EVAL',
        by === 'hash' ? sha : source,
        String(keys.length),
        ...keys,
        ...args,
      ),
    command: (name, ...args) => client.call(name, ...args),
    watchState: (listener) => watchShared(client, listener, (all) => watchState(client, all)),
    connect: () => connect(client),
    listen: (channel, listener) => listen(client, channel, listener),
  }
}

function watchState(client: IoRedisClient, listener: StateListener): () => void {
  const onReady = (): void => listener.ready()
  const onLost = (error?: unknown): void => listener.lost(error)
  client.on('ready', onReady)
  client.on('close', onLost)
  client.on('error', onLost)
  return () => {
    client.off('ready', onReady)
    client.off('close', onLost)
    client.off('error', onLost)
  }
}

function listen(client: IoRedisClient, channel: string, listener: ChannelListener): ChannelConnection {
  const subscriber = client.duplicate({
    lazyConnect: false,
    // Done below instead, since the library does not tell when it is through.
    autoResubscribe: false,
    enableOfflineQueue: true,
    maxRetriesPerRequest: null,
    // Also where the caller's gives up: that one is still there, and its waiters would never hear anything again.
    retryStrategy: retryMs,
    sentinelRetryStrategy: retryMs,
  })
  // Connections come and go, and the library goes on trying. What is missed meanwhile costs the waiters a heartbeat.
  subscriber.on('error', () => undefined)
  subscriber.on('message', (_channel, text) => listener.message(String(text)))
  let stop: (() => void) | undefined
  subscriber.on('close', () => stop?.())
  subscriber.on('ready', () => {
    stop?.()
    stop = repeatedly(async () => {
      await subscriber.subscribe(channel)
      listener.listening()
    })
  })
  return {
    close() {
      stop?.()
      subscriber.disconnect()
    },
  }
}

function connect(client: IoRedisClient): OwnConnection {
  const own = client.duplicate({
    lazyConnect: false,
    enableOfflineQueue: true,
    maxRetriesPerRequest: null,
    keyPrefix: '',
    ...databaseOf(client),
    // Without it the library does not connect again, and rejects what it still has.
    retryStrategy: null,
    reconnectOnError: null,
  })
  let failure: unknown
  own.on('error', (error) => (failure = error))
  return {
    async call(name, ...args) {
      try {
        return await own.call(name, ...args)
      } catch (error) {
        // The library only says that the connection is closed; the event said why.
        throw isServerError(error) ? error : (failure ?? error)
      }
    },
    close: () => own.disconnect(),
  }
}

/** Where SELECT has moved the client to, which is not among its settings. Not public in the library. */
function databaseOf(client: IoRedisClient): { readonly db?: number } {
  // While a connection is being made anew, the one before tells: the library goes back to its database.
  const [before, now] = [Reflect.get(client, 'prevCondition'), Reflect.get(client, 'condition')] as unknown[]
  const db = selectedIn(before) ?? selectedIn(now)
  return db === undefined ? {} : { db }
}

function selectedIn(condition: unknown): number | undefined {
  if (typeof condition !== 'object' || condition === null || !('select' in condition)) return undefined
  return typeof condition.select === 'number' ? condition.select : undefined
}
