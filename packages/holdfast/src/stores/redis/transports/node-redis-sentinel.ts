/**
 * A client made with `createSentinel` of node-redis 5 and 6. It sends a command again by itself when the primary has been
 * replaced. A `Redis` of ioredis that was given Sentinels needs nothing of its own.
 */
import { LockUsageError } from '../../../errors.js'
import type { NodeRedisOwnSentinel, NodeRedisSentinel } from '../clients.js'
import { STORE_NAME } from '../errors.js'
import type { ChannelConnection, ChannelListener, StateListener, Transport } from './transport.js'

const RECONNECT_MS = 500

export function nodeRedisSentinelTransport(client: NodeRedisSentinel): Transport {
  const keyPrefix = prefixOf(client)
  return {
    keyPrefix,
    get isReady() {
      return client.isReady
    },
    run: (by, { sha, source }, keys, args) =>
      client.sendCommand(false, [
        by === 'hash' ? 'EVALSHA' : 'EVAL',
        by === 'hash' ? sha : source,
        String(keys.length),
        ...(keyPrefix === '' ? keys : keys.map((key) => keyPrefix + key)),
        ...args,
      ]),
    command: (name, ...args) => client.sendCommand(false, [name, ...args]),
    watchState: (listener) => watchState(client, listener),
    connect() {
      throw new LockUsageError(
        "redisStore: mode 'simple' needs a connection that does not change under it, and a Sentinel client of " +
          'node-redis gives none. Use ioredis, or a client of the primary.',
        { store: STORE_NAME },
      )
    },
    listen: (channel, listener) => listen(client, channel, listener),
  }
}

/** Version 6 has such a setting, and shows it under this name only. */
function prefixOf(client: NodeRedisSentinel): string {
  const prefix: unknown = Reflect.get(client, '_keyPrefix')
  return typeof prefix === 'string' || Buffer.isBuffer(prefix) ? prefix.toString() : ''
}

function watchState(client: NodeRedisSentinel, listener: StateListener): () => void {
  const onReady = (): void => listener.ready()
  const onError = (error?: unknown): void => listener.lost(error)
  const onEnd = (): void => listener.lost()
  // Version 5 does not tell when it is ready.
  const onChange = (): void => {
    if (client.isReady) listener.ready()
  }
  client.on('ready', onReady)
  client.on('topology-change', onChange)
  client.on('error', onError)
  client.on('end', onEnd)
  return () => {
    client.off('ready', onReady)
    client.off('topology-change', onChange)
    client.off('error', onError)
    client.off('end', onEnd)
  }
}

function listen(client: NodeRedisSentinel, channel: string, listener: ChannelListener): ChannelConnection {
  let own: NodeRedisOwnSentinel | undefined
  let closed = false
  let retry: NodeJS.Timeout | undefined
  const connect = async (): Promise<void> => {
    const subscriber = client.duplicate()
    own = subscriber
    let subscribed = false
    subscriber.on('error', () => undefined)
    // The library subscribes again to the new primary. What was said meanwhile was not heard.
    subscriber.on('topology-change', () => {
      if (subscribed) listener.listening()
    })
    try {
      await subscriber.connect()
      await subscriber.subscribe(channel, (text) => listener.message(text))
      subscribed = true
      listener.listening()
    } catch {
      // It gives up when no Sentinel answers for long. Waiters have their heartbeats meanwhile.
      end(subscriber)
      if (!closed) retry = setTimeout(() => void connect(), RECONNECT_MS).unref()
    }
  }
  void connect()
  return {
    close() {
      closed = true
      clearTimeout(retry)
      if (own) end(own)
    },
  }
}

function end(subscriber: NodeRedisOwnSentinel): void {
  subscriber.destroy().catch(() => undefined)
}
