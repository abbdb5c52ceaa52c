/** A client made with `createCluster` of node-redis 6. */
import type { NodeRedisCluster, NodeRedisClusterNode, NodeRedisMember } from '../../clients.js'
import { mapAddress } from '../address-map.js'
import { nodeRedisTransport } from './node-redis.js'
import { destroy, duplicateOnce, ReconnectingWire } from './node-redis-wire.js'
import type {
  Address,
  ClusterTransport,
  MemberConnection,
  ShardConnection,
  ShardListener,
} from '../transport.js'

/**
 * After how long without an answer the next member is asked as well. The library keeps what it
 * cannot send, without an end.
 */
const NEXT_MEMBER_MS = 300

interface Settings {
  readonly keyPrefix?: unknown
  readonly nodeAddressMap?: unknown
}

export function nodeRedisClusterTransport(client: NodeRedisCluster): ClusterTransport {
  // Not public in the library. Where it is not there, nothing of the kind was set.
  const settings = (Reflect.get(client, '_options') ?? {}) as Settings
  const { keyPrefix } = settings
  return {
    keyPrefix:
      typeof keyPrefix === 'string' || Buffer.isBuffer(keyPrefix) ? keyPrefix.toString() : '',
    async command(name, ...args) {
      await untilConnected(client)
      return askAny(client, [name, ...args])
    },
    mapAddress: (address) => mapAddress(settings.nodeAddressMap, address),
    async open(address) {
      return open(await anyMember(client), address)
    },
  }
}

/** A command that is sent before the client knows its members fails, though it is connecting. */
function untilConnected(client: NodeRedisCluster): Promise<void> {
  if (!client.isOpen) return Promise.reject(closed())
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

/**
 * A connection of the library's, for its settings. Whether it works does not matter: one to a
 * member that is dead is awaited forever.
 */
async function anyMember(client: NodeRedisCluster): Promise<NodeRedisMember> {
  const [first] = client.masters
  if (!client.isOpen || !first) throw closed()
  const made = client.masters.find((node) => node.client !== undefined)?.client
  if (made) return made
  // It is there as soon as it is asked for, long before it is connected.
  const connecting = client.nodeClient(first as never)
  connecting.catch(() => undefined)
  return first.client ?? connecting
}

/** Asks one member after the other until one answers. For what may be asked several times. */
function askAny(client: NodeRedisCluster, args: readonly string[]): Promise<unknown> {
  const nodes = mostHopefulFirst(client.masters)
  if (nodes.length === 0) return Promise.reject(closed())
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    let [asked, failed] = [0, 0]
    const askNext = (): void => {
      clearTimeout(timer)
      const node = nodes[asked]
      if (!node) return
      asked += 1
      // The pending call of the runtime keeps the process alive.
      timer = setTimeout(askNext, NEXT_MEMBER_MS).unref()
      client
        .nodeClient(node as never)
        .then((member) => member.sendCommand([...args]))
        .then(answered, refused)
    }
    const answered = (reply: unknown): void => {
      asked = nodes.length
      clearTimeout(timer)
      resolve(reply)
    }
    const refused = (error: unknown): void => {
      failed += 1
      if (failed < nodes.length) {
        askNext()
        return
      }
      clearTimeout(timer)
      reject(error instanceof Error ? error : new Error(String(error)))
    }
    askNext()
  })
}

/** Those that are connected, those that may be, and those that have lost their connection. */
function mostHopefulFirst(nodes: readonly NodeRedisClusterNode[]): NodeRedisClusterNode[] {
  return [...nodes].sort((one, other) => hopeOf(other) - hopeOf(one))
}

function hopeOf({ client }: NodeRedisClusterNode): number {
  if (client === undefined) return 1
  return client.isReady ? 2 : 0
}

function closed(): Error {
  return new Error('The client is closed')
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
  const wire = new ReconnectingWire(() => duplicateOnce(like))
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
    subscribe: (channel) =>
      subscriber.sSubscribe(channel, (text) => listener.message(channel, text)),
    unsubscribe(channel) {
      subscriber.sUnsubscribe(channel).catch(() => undefined)
    },
    close: () => destroy(subscriber),
  }
}
