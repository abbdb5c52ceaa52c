/** node-redis (`redis`) 6. */
import type { NodeRedisClient, NodeRedisDuplicate } from '../clients.js'
import { isServerError } from '../errors.js'
import { destroy, directWire, duplicateOnce, type Wire } from './node-redis-wire.js'
import { retryUntilDone, retryMs } from './retry-until-done.js'
import type { ChannelConnection, ChannelListener, OwnConnection, Transport } from './transport.js'

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
    listen: (channel, listener) => listen(client, channel, listener),
  }
}

function prefixOf({ options }: NodeRedisClient): string {
  const prefix = options && 'keyPrefix' in options ? options.keyPrefix : undefined
  return typeof prefix === 'string' || Buffer.isBuffer(prefix) ? prefix.toString() : ''
}

function listen(
  client: NodeRedisClient,
  channel: string,
  listener: ChannelListener,
): ChannelConnection {
  const { socket }: { readonly socket?: object } = client.options ?? {}
  let subscriber: NodeRedisDuplicate | undefined
  const drop = (): void => {
    if (subscriber) destroy(subscriber)
  }
  const begin = async (): Promise<void> => {
    // The library forgets a subscription that did not go well at first: the next one gets a
    // connection of its own.
    drop()
    // Also where the caller's gives up: that one is still there, and its waiters would never hear
    // anything again.
    subscriber = client.duplicate({ socket: { ...socket, reconnectStrategy: retryMs } })
    await subscribe(subscriber, channel, listener)
  }
  const stop = retryUntilDone(begin, (error) => listener.refused(error))
  return {
    close() {
      stop()
      drop()
    },
  }
}

async function subscribe(
  subscriber: NodeRedisDuplicate,
  channel: string,
  listener: ChannelListener,
): Promise<void> {
  let subscribed = false
  // Connections come and go, and the library retries. What is missed meanwhile costs the waiters a
  // heartbeat.
  subscriber.on('error', () => undefined)
  // The library subscribes again by itself, and is ready when it has.
  subscriber.on('ready', () => {
    if (subscribed) listener.listening()
  })
  await subscriber.connect()
  await subscriber.subscribe(channel, (text) => listener.message(text))
  subscribed = true
  listener.listening()
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
