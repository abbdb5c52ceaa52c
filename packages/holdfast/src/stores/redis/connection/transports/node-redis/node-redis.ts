/** node-redis (`redis`) 6. */
import type { NodeRedisClient } from '../../clients.js'
import { isServerError } from '../../../errors.js'
import {
  destroy,
  directWire,
  duplicateOnce,
  ReconnectingWire,
  type Wire,
} from './node-redis-wire.js'
import { KeptSubscription, type SubscriberListener } from '../channel-connection.js'
import { libraryWrites } from '../../../../../async/library-writes.js'
import type { OwnConnection, Replacement, Transport } from '../transport.js'

/** @param wire the way to the server, where it is not that of the client */
export function nodeRedisTransport(
  client: NodeRedisClient,
  wire: Wire = directWire(client),
): Transport {
  const keyPrefix = prefixOf(client)
  return {
    keyPrefix,
    get isReady() {
      return wire.isReady
    },
    get isClosed() {
      return wire.isClosed === true
    },
    run: (by, { sha, source }, keys, args) =>
      wire.send([
        by === 'hash' ? 'EVALSHA' : 'EVAL',
        by === 'hash' ? sha : source,
        String(keys.length),
        // The library does so only for commands that it knows by name.
        ...(keyPrefix === '' ? keys : keys.map((key) => keyPrefix + key)),
        ...args,
      ]),
    command: (name, ...args) => wire.send([name, ...args]),
    watchState: (listener) => wire.watchState(listener),
    connect: () => connect(client),
    listen: (channel, listener) =>
      new KeptSubscription((subscriber) => listen(client, channel, subscriber), listener),
    written: libraryWrites,
    replace: () => replace(client),
  }
}

function prefixOf({ options }: NodeRedisClient): string {
  const prefix = options && 'keyPrefix' in options ? options.keyPrefix : undefined
  return typeof prefix === 'string' || Buffer.isBuffer(prefix) ? prefix.toString() : ''
}

function listen(
  client: NodeRedisClient,
  channel: string,
  listener: SubscriberListener,
): { close(): void } {
  const subscriber = duplicateOnce(client)
  let failure: unknown
  subscriber.on('error', (error) => (failure ??= error))
  subscriber.on('ready', () => listener.connected())
  const begin = async (): Promise<void> => {
    await subscriber.connect()
    // The library rejects what it could not subscribe to before it reports the end.
    subscriber.on('error', (error) => listener.ended(error))
    await subscriber.subscribe(channel, (text) => listener.message(text))
    listener.subscribed()
  }
  begin().catch((error: unknown) => listener.ended(isServerError(error) ? error : failure))
  return { close: () => destroy(subscriber) }
}

/** Opens a connection that stands in for the client's, and is never given up. */
function replace(client: NodeRedisClient): Replacement {
  // The library waits between its own tries by a timer that keeps the process alive.
  const wire = new ReconnectingWire(() => duplicateOnce(client))
  wire.open()
  return {
    transport: nodeRedisTransport(client, wire),
    close: () => wire.drop(),
  }
}

function connect(client: NodeRedisClient): OwnConnection {
  const own = duplicateOnce(client)
  let failure: unknown
  own.on('error', (error) => (failure = error))
  const connected = own.connect()
  connected.catch(() => undefined)
  return {
    async call(name, ...args) {
      try {
        return await own.sendCommand([name, ...args])
      } catch (error) {
        // The library only says that the connection is closed; the event said why.
        throw isServerError(error) ? error : (failure ?? error)
      }
    },
    close: () => destroy(own),
  }
}
