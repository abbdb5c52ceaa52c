/** node-redis (`redis`) 5 and 6. */
import type { NodeRedisClient } from '../clients.js'
import type { ChannelConnection, ChannelListener, StateListener, Transport } from './transport.js'

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

/** A connection that was never made cannot be destroyed, says the library. */
function destroy(subscriber: { destroy(): void }): void {
  try {
    subscriber.destroy()
  } catch {
    // It is closed already.
  }
}
