/** ioredis 5 and 6. */
import type { IoRedisClient } from '../../clients.js'
import { isServerError } from '../../../errors.js'
import { sendWordsOf, type SendWords } from './ioredis-words.js'
import { databaseOf, FIRST_DATABASE, inDatabase, isConfirmed } from './ioredis-database.js'
import { KeptSubscription, type SubscriberListener } from '../channel-connection.js'
import { keepOpen } from '../keep-open.js'
import { retryMs } from '../retry-until-done.js'
import { watchShared } from '../shared-state.js'
import { unrefSockets } from '../unref.js'
import type { OwnConnection, Replacement, StateListener, Transport } from '../transport.js'

export function ioRedisTransport(client: IoRedisClient): Transport {
  let sendWords: SendWords | undefined
  return {
    // The library puts it before the keys itself.
    keyPrefix: client.options.keyPrefix ?? '',
    // Automatic pipelines leave in a later tick.
    writesAtOnce: client.options.enableAutoPipelining !== true,
    get isReady() {
      return client.status === 'ready'
    },
    get isClosed() {
      return client.status === 'end'
    },
    run: (by, { sha, source }, keys, args) => {
      // The library looks a name up in small letters, and need not make them.
      const [name, script] = by === 'hash' ? ['evalsha', sha] : ['eval', source]
      // Not spread: the engine would allocate the words among old objects.
      const words = [script, String(keys.length)].concat(keys, args)
      const send = (sendWords ??= sendWordsOf(client))
      const db = databaseOf(client)
      return db === FIRST_DATABASE || isConfirmed(client, db)
        ? send(name, words)
        : inDatabase(client, () => send(name, words))
    },
    command: (name, ...args) => inDatabase(client, () => client.call(name, ...args)),
    watchState: (listener) => watchShared(client, listener, (all) => watchState(client, all)),
    connect: () => connect(client),
    listen: (channel, listener) =>
      new KeptSubscription((subscriber) => listen(client, channel, subscriber), listener),
    replace: () => replace(client),
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
  listener: SubscriberListener,
): { close(): void } {
  const subscriber = client.duplicate({
    lazyConnect: false,
    // Done below instead, since the library does not report when it has subscribed again.
    autoResubscribe: false,
    enableOfflineQueue: true,
    maxRetriesPerRequest: null,
    // It never connects again by itself: with each connection the client's settings may be others.
    retryStrategy: null,
    sentinelRetryStrategy: () => null,
  })
  unrefSockets(subscriber)
  let failure: unknown
  subscriber.on('error', (error) => (failure ??= error))
  subscriber.on('message', (_channel, text) => listener.message(String(text)))
  subscriber.on('end', () => listener.ended(failure))
  subscriber.on('ready', () => {
    listener.connected()
    subscriber.subscribe(channel).then(
      () => listener.subscribed(),
      (error: unknown) => listener.ended(error),
    )
  })
  return { close: () => subscriber.disconnect() }
}

/** Opens a connection that stands in for the client's, and is never given up. */
function replace(client: IoRedisClient): Replacement {
  const own = client.duplicate({
    lazyConnect: false,
    enableOfflineQueue: true,
    maxRetriesPerRequest: null,
    db: databaseOf(client),
    retryStrategy: retryMs,
    sentinelRetryStrategy: retryMs,
    reconnectOnError: null,
  })
  unrefSockets(own)
  own.on('error', () => undefined)
  const stop = keepOpen(own)
  return {
    transport: ioRedisTransport(own),
    close() {
      stop()
      own.disconnect()
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
  unrefSockets(own)
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
