/** A `Cluster` of ioredis 5 and 6. */
import type {
  IoRedisCluster,
  IoRedisMember,
  IoRedisOwnMember,
  IoRedisOverride,
} from '../../clients.js'
import { mapAddress } from '../address-map.js'
import { ioRedisTransport } from './ioredis.js'
import { retryMs } from '../retry-until-done.js'
import { unrefSockets } from '../unref.js'
import { watchShared } from '../shared-state.js'
import type {
  Address,
  ClusterTransport,
  MemberConnection,
  ShardConnection,
  ShardListener,
  StateListener,
} from '../transport.js'

const OWN: IoRedisOverride = {
  lazyConnect: false,
  enableOfflineQueue: true,
  maxRetriesPerRequest: null,
  // Keys and channels of a Cluster come complete.
  keyPrefix: '',
  readOnly: false,
  reconnectOnError: null,
}

export function ioRedisClusterTransport(client: IoRedisCluster): ClusterTransport {
  let last: IoRedisMember | undefined
  return {
    keyPrefix: client.options.keyPrefix ?? '',
    command: (name, ...args) => untilError(client, ask(client, [name, ...args])),
    mapAddress: (address) => mapAddress(client.options.natMap, address),
    open(address) {
      // The library drops each connection that breaks. Only its settings matter here.
      last = client.nodes('all')[0] ?? last
      return last && client.status !== 'end'
        ? Promise.resolve(open(last, address, () => loginOf(client)))
        : Promise.reject(new Error('The client is closed'))
    },
  }
}

interface Kept {
  readonly words: string
  readonly reply: Promise<unknown>
}

/** What a client has not sent yet, for all stores over it. */
const kept = new WeakMap<IoRedisCluster, Kept>()

/**
 * A client that cannot connect keeps commands forever. A later call with the same words waits for
 * the answer to the kept command. That command is answered when it is sent, so its answer is no
 * older than that of another command.
 */
function ask(client: IoRedisCluster, [name, ...args]: [string, ...string[]]): Promise<unknown> {
  const words = [name, ...args].join(' ')
  const before = kept.get(client)
  const isWaiting = client.status !== 'ready'
  if (isWaiting && before?.words === words) return before.reply
  const reply = client.call(name, ...args)
  if (!isWaiting) return reply
  kept.set(client, { words, reply })
  const forget = (): void => {
    if (kept.get(client)?.reply === reply) kept.delete(client)
  }
  reply.then(forget, forget)
  return reply
}

/** A client that cannot connect reports its failures in events. */
function untilError<T>(client: IoRedisCluster, reply: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = watchShared(
      client,
      {
        ready: () => undefined,
        lost(error) {
          if (client.status !== 'ready') fail(error)
        },
      },
      (all) => watchFailures(client, all),
    )
    const fail = (error: unknown): void => {
      stop()
      reject(causeOf(error))
    }
    reply.then((value) => {
      stop()
      resolve(value)
    }, fail)
  })
}

function watchFailures(client: IoRedisCluster, listener: StateListener): () => void {
  const onError = (error: unknown): void => listener.lost(error)
  const onEnd = (): void => listener.lost(new Error('The client is closed'))
  client.on('error', onError)
  client.on('end', onEnd)
  return () => {
    client.off('error', onError)
    client.off('end', onEnd)
  }
}

/** That no member could be asked says less than why the last one could not. */
function causeOf(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error))
  const last: unknown = Reflect.get(error, 'lastNodeError')
  return last instanceof Error ? last : error
}

interface Login {
  readonly username?: string
  readonly password?: string
}

/** Returns the login that the client gives to its next connection: it may have changed. */
function loginOf({ options }: IoRedisCluster): Login {
  const { username, password }: Login = options.redisOptions ?? {}
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
  }
}

function open(
  member: IoRedisMember,
  { host, port }: Address,
  login: () => Login,
): MemberConnection {
  const retryStrategy = (times: number): number => {
    // Its own settings are a copy.
    Object.assign(own.options, login())
    return retryMs(times)
  }
  const own = unrefSockets(member.duplicate({ ...OWN, host, port, retryStrategy, ...login() }))
  // The transport's listener hears of it, as far as it matters.
  own.on('error', () => undefined)
  return {
    transport: ioRedisTransport(own),
    listenSharded: (listener) => listenSharded(own, login(), listener),
    close: () => own.disconnect(),
  }
}

function listenSharded(
  member: IoRedisMember,
  login: Login,
  listener: ShardListener,
): ShardConnection {
  const subscriber: IoRedisOwnMember = member.duplicate({
    ...OWN,
    ...login,
    autoResubscribe: false,
    retryStrategy: null,
  })
  unrefSockets(subscriber)
  // Also when a channel was cut off since its slot has moved: the library takes that for an answer
  // to nothing.
  subscriber.on('error', () => listener.broken())
  subscriber.on('end', () => listener.broken())
  // A subscription that is refused since its slot is elsewhere is never answered; this event is
  // the only sign.
  subscriber.on('moved', () => listener.broken())
  subscriber.on('smessage', (channel, text) => listener.message(String(channel), String(text)))
  subscriber.on('ready', () => listener.open())
  return {
    subscribe: (channel) => subscriber.ssubscribe(channel),
    unsubscribe(channel) {
      subscriber.sunsubscribe(channel).catch(() => undefined)
    },
    close: () => subscriber.disconnect(),
  }
}
