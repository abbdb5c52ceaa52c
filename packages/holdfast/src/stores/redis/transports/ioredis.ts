/** ioredis 5 and 6. */
import type { IoRedisClient } from '../clients.js'
import { isServerError } from '../errors.js'
import { databaseOf, FIRST_DATABASE, inDatabase, isConfirmed } from './ioredis-database.js'
import { retryUntilDone, retryMs } from './retry-until-done.js'
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
    run: (by, { sha, source }, keys, args) => {
      const [name, script] = by === 'hash' ? ['EVALSHA', sha] : ['EVAL', source]
      const words = [script, String(keys.length), ...keys, ...args]
      const db = databaseOf(client)
      return db === FIRST_DATABASE || isConfirmed(client, db)
        ? client.call(name, ...words)
        : inDatabase(client, () => client.call(name, ...words))
    },
    command: (name, ...args) => inDatabase(client, () => client.call(name, ...args)),
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

function listen(
  client: IoRedisClient,
  channel: string,
  listener: ChannelListener,
): ChannelConnection {
  const subscriber = client.duplicate({
    lazyConnect: false,
    // Done below instead, since the library does not tell when it is through.
    autoResubscribe: false,
    enableOfflineQueue: true,
    maxRetriesPerRequest: null,
    // Also where the caller's gives up: that one is still there, and its waiters would never hear
    // anything again.
    retryStrategy: retryMs,
    sentinelRetryStrategy: retryMs,
  })
  // Connections come and go, and the library retries. What is missed meanwhile costs the waiters a
  // heartbeat.
  subscriber.on('error', () => undefined)
  subscriber.on('message', (_channel, text) => listener.message(String(text)))
  const subscribe = async (): Promise<void> => {
    await subscriber.subscribe(channel)
    listener.listening()
  }
  let stop: (() => void) | undefined
  subscriber.on('close', () => stop?.())
  subscriber.on('ready', () => {
    stop?.()
    stop = retryUntilDone(subscribe, (error) => listener.refused(error))
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
    db: databaseOf(client),
    // Without it the library does not connect again, and rejects what it still has.
    retryStrategy: null,
    reconnectOnError: null,
  })
  let failure: unknown
  own.on('error', (error) => (failure = error))
  return {
    async call(name, ...args) {
      try {
        return await inDatabase(own, () => own.call(name, ...args))
      } catch (error) {
        // The library only says that the connection is closed; the event said why.
        throw isServerError(error) ? error : (failure ?? error)
      }
    },
    close: () => own.disconnect(),
  }
}
