/** A client made with `createCluster` of node-redis 5 and 6. */
import type { NodeRedisCluster, NodeRedisMember } from '../clients.js'
import { mapAddress } from './address-map.js'
import { nodeRedisTransport } from './node-redis.js'
import { destroy, duplicateOnce, LastingWire } from './node-redis-wire.js'
import type {
  Address,
  ClusterTransport,
  MemberConnection,
  ShardConnection,
  ShardListener,
} from './transport.js'

interface Settings {
  readonly keyPrefix?: unknown
  readonly nodeAddressMap?: unknown
}

export function nodeRedisClusterTransport(client: NodeRedisCluster): ClusterTransport {
  // Not public in the library. Where it is not there, nothing of the kind was set.
  const settings = (Reflect.get(client, '_options') ?? {}) as Settings
  const { keyPrefix } = settings
  return {
    keyPrefix: typeof keyPrefix === 'string' || Buffer.isBuffer(keyPrefix) ? keyPrefix.toString() : '',
    async command(name, ...args) {
      await untilConnected(client)
      return client.sendCommand(undefined, false, [name, ...args])
    },
    mapAddress: (address) => mapAddress(settings.nodeAddressMap, address),
    async open(address) {
      const [member] = client.masters
      if (!client.isOpen || !member) throw new Error('The client is closed')
      return open(await client.nodeClient(member as never), address)
    },
  }
}

/** What is sent before it knows its members fails, though `connect()` is under way. */
function untilConnected(client: NodeRedisCluster): Promise<void> {
  if (!client.isOpen) return Promise.reject(new Error('The client is closed'))
  if (client.masters.length > 0) return Promise.resolve()
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      client.off('connect', onConnect)
      client.off('error', onError)
    }
    const onConnect = (): void => {
      stop()
      resolve()
    }
    const onError = (error: unknown): void => {
      stop()
      reject(error instanceof Error ? error : new Error('The client could not connect'))
    }
    client.on('connect', onConnect)
    client.on('error', onError)
  })
}

function open(member: NodeRedisMember, { host, port }: Address): MemberConnection {
  const { socket }: { readonly socket?: object } = member.options ?? {}
  // Never connected itself: what all connections to this member are made from.
  const like = member.duplicate({
    socket: { ...socket, host, port },
    // Keys and channels of a Cluster come complete.
    keyPrefix: '',
    readonly: false,
  })
  const wire = new LastingWire(() => duplicateOnce(like))
  wire.open()
  return {
    transport: nodeRedisTransport(like, wire),
    listenSharded: (listener) => listenSharded(like, listener),
    close: () => wire.drop(),
  }
}

function listenSharded(member: NodeRedisMember, listener: ShardListener): ShardConnection {
  const subscriber = duplicateOnce(member)
  subscriber.on('error', () => listener.broken())
  subscriber.on('end', () => listener.broken())
  // The slot has moved, and the channel with it.
  subscriber.on('sharded-channel-moved', () => listener.broken())
  subscriber.connect().then(
    () => listener.open(),
    () => listener.broken(),
  )
  return {
    subscribe: (channel) => subscriber.sSubscribe(channel, (text) => listener.message(channel, text)),
    unsubscribe(channel) {
      subscriber.sUnsubscribe(channel).catch(() => undefined)
    },
    close: () => destroy(subscriber),
  }
}
