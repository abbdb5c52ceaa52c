/** node-redis (`redis`) 5 and 6. */
import type { NodeRedisClient } from '../clients.js'
import { isServerError } from '../errors.js'
import type {
  ChannelConnection,
  ChannelListener,
  OwnConnection,
  StateListener,
  Transport,
} from './transport.js'

export function nodeRedisTransport(client: NodeRedisClient): Transport {
  const keyPrefix = prefixOf(client)
  return {
    keyPrefix,
    get isReady() {
      return client.isReady
    },
    run: (by, { sha, source }, keys, args) =>
      client.sendCommand([
        by === 'hash' ? 'EVALSHA' : 'EVAL',
        by === 'hash' ? sha : source,
        String(keys.length),
        // The library does so only for commands that it knows by name.
        ...(keyPrefix === '' ? keys : keys.map((key) => keyPrefix + key)),
        ...args,
      ]),
    command: (name, ...args) => client.sendCommand([name, ...args]),
    watchState: (listener) => watchState(client, listener),
    connect: () => connect(client),
    listen: (channel, listener) => listen(client, channel, listener),
  }
}

/** Version 6 has such a setting. */
function prefixOf({ options }: NodeRedisClient): string {
  const prefix = options && 'keyPrefix' in options ? options.keyPrefix : undefined
  return typeof prefix === 'string' || Buffer.isBuffer(prefix) ? prefix.toString() : ''
}

function watchState(client: NodeRedisClient, listener: StateListener): () => void {
  const onReady = (): void => listener.ready()
  const onError = (error?: unknown): void => listener.lost(error)
  const onEnd = (): void => listener.lost()
  client.on('ready', onReady)
  client.on('error', onError)
  client.on('end', onEnd)
  return () => {
    client.off('ready', onReady)
    client.off('error', onError)
    client.off('end', onEnd)
  }
}

function listen(client: NodeRedisClient, channel: string, listener: ChannelListener): ChannelConnection {
  const subscriber = client.duplicate()
  let subscribed = false
  // Connections come and go, and the library goes on trying. What is missed meanwhile costs the waiters a heartbeat.
  subscriber.on('error', () => undefined)
  // The library subscribes again by itself, and is ready when it has.
  subscriber.on('ready', () => {
    if (subscribed) listener.listening()
  })
  subscriber
    .connect()
    .then(() => subscriber.subscribe(channel, (text) => listener.message(text)))
    .then(
      () => {
        subscribed = true
        listener.listening()
      },
      () => undefined,
    )
  return { close: () => destroy(subscriber) }
}

function connect(client: NodeRedisClient): OwnConnection {
  const { socket }: { readonly socket?: object } = client.options ?? {}
  // Without a strategy the library does not connect again, and rejects what it still has.
  const own = client.duplicate({ socket: { ...socket, reconnectStrategy: false } })
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

/** A connection that was never made cannot be destroyed, says the library. */
export function destroy(subscriber: { destroy(): void }): void {
  try {
    subscriber.destroy()
  } catch {
    // It is closed already.
  }
}
