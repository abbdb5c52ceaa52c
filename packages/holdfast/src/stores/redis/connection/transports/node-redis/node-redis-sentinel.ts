/**
 * A client made with `createSentinel` of node-redis 6. It sends a command again by itself when the
 * primary has been replaced. A `Redis` of ioredis that was given Sentinels needs nothing of its
 * own.
 */
import type { NodeRedisOwnSentinel, NodeRedisSentinel } from '../../clients.js'
import { libraryWrites } from '../../../../../async/library-writes.js'
import { retryUntilDone } from '../retry-until-done.js'
import { watchShared } from '../shared-state.js'
import type {
  ChannelConnection,
  ChannelListener,
  OwnConnection,
  StateListener,
  Transport,
} from '../transport.js'

/** The store's scripts return the server's refusal as text, which the library does not see. */
const LEAVE = "return redis.error_reply('READONLY The client looks for the primary')"

export function nodeRedisSentinelTransport(client: NodeRedisSentinel): Transport {
  const keyPrefix = prefixOf(client)
  return {
    keyPrefix,
    get isReady() {
      return client.isReady
    },
    get isClosed() {
      return !client.isOpen
    },
    run: (by, { sha, source }, keys, args) =>
      send(client, [
        by === 'hash' ? 'EVALSHA' : 'EVAL',
        by === 'hash' ? sha : source,
        String(keys.length),
        ...(keyPrefix === '' ? keys : keys.map((key) => keyPrefix + key)),
        ...args,
      ]),
    command: (name, ...args) => send(client, [name, ...args]),
    watchState: (listener) => watchShared(client, listener, (all) => watchState(client, all)),
    connect: () => connect(client),
    listen: (channel, listener) => listen(client, channel, listener),
    written: libraryWrites,
    leave() {
      // At an error of this name the library asks the Sentinels again.
      send(client, ['EVAL', LEAVE, '0']).catch(() => undefined)
    },
  }
}

/** A client that was never connected would fail with a message about its own internals. */
function send(client: NodeRedisSentinel, args: string[]): Promise<unknown> {
  return client.isOpen
    ? client.sendCommand(false, args)
    : Promise.reject(new Error('The client is closed, or was never connected'))
}

/** The library shows this setting under this name only. */
function prefixOf(client: NodeRedisSentinel): string {
  const prefix: unknown = Reflect.get(client, '_keyPrefix')
  return typeof prefix === 'string' || Buffer.isBuffer(prefix) ? prefix.toString() : ''
}

function watchState(client: NodeRedisSentinel, listener: StateListener): () => void {
  const onReady = (): void => listener.ready()
  const onError = (error?: unknown): void => listener.lost(error)
  const onEnd = (): void => listener.lost()
  // Not every version 6 reports when it is ready.
  const onChange = (change?: unknown): void => {
    if (isOfPrimary(change)) listener.broken?.()
    if (client.isReady) listener.ready()
  }
  // The client stays ready while it connects to the same primary again, and emits no other event.
  const onClientError = (failure?: unknown): void => {
    if (isOfPrimary(failure)) listener.broken?.()
  }
  client.on('ready', onReady)
  client.on('client-error', onClientError)
  client.on('topology-change', onChange)
  client.on('error', onError)
  client.on('end', onEnd)
  return () => {
    client.off('ready', onReady)
    client.off('client-error', onClientError)
    client.off('topology-change', onChange)
    client.off('error', onError)
    client.off('end', onEnd)
  }
}

/**
 * Whether an event is about a connection to the primary: it broke, or another primary took over.
 */
function isOfPrimary(event: unknown): boolean {
  if (typeof event !== 'object' || event === null || !('type' in event)) return false
  return event.type === 'MASTER' || event.type === 'MASTER_CHANGE'
}

function connect(client: NodeRedisSentinel): OwnConnection {
  // WAIT counts the writes of its own connection only, so there must be no other.
  const own = client.duplicate({ masterPoolSize: 1 })
  own.on('error', () => undefined)
  const connected = own.connect()
  connected.catch(() => undefined)
  return {
    mayChange: true,
    async call(name, ...args) {
      await connected
      return own.sendCommand(false, [name, ...args])
    },
    close: () => end(own),
  }
}

/**
 * The library has a connection of its own for messages, and subscribes again when the primary has
 * been replaced.
 */
function listen(
  client: NodeRedisSentinel,
  channel: string,
  listener: ChannelListener,
): ChannelConnection {
  let closed = false
  let subscribed = false
  const onMessage = (text: string): void => listener.message(text)
  const stopWatching = watchShared(
    client,
    {
      // What was said meanwhile was not heard.
      ready() {
        if (subscribed) listener.listening()
      },
      lost: () => undefined,
    },
    (all) => watchState(client, all),
  )
  // Such as when there is no primary.
  const subscribe = async (): Promise<void> => {
    await client.subscribe(channel, onMessage)
    subscribed = true
    if (closed) await client.unsubscribe(channel, onMessage)
    else listener.listening()
  }
  const stop = retryUntilDone(subscribe, (error) => listener.refused(error))
  return {
    close() {
      closed = true
      stop()
      stopWatching()
      if (subscribed) client.unsubscribe(channel, onMessage).catch(() => undefined)
    },
  }
}

function end(own: NodeRedisOwnSentinel): void {
  own.destroy().catch(() => undefined)
}
