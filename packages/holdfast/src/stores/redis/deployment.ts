/**
 * What the store runs on, as far as it has to know: one server at a time, or the members of a
 * Cluster.
 */
import type { Clock } from '../../clock/clock.js'
import { keyOf, withHelpers } from './keys.js'
import { ResilientCaller } from './resilient-caller.js'
import { OneChannel } from './channel.js'
import { Channels } from './cluster/channels.js'
import { Refusal } from './cluster/member.js'
import { Router } from './cluster/router.js'
import { slotOf } from './cluster/slots.js'
import { explain } from './errors.js'
import type { Script } from './scripts.generated.js'
import { ReplicatedCalls, type ReplicaSettings } from './replicas.js'
import { scanKeys } from './inspect.js'
import type { ClusterTransport, Transport } from './transports/transport.js'
import type { MessageListener, Subscriptions } from './grant-inbox.js'

export interface Deployment {
  /** What the client was told to put before every key. */
  readonly keyPrefix: string
  /** Whether a call may only concern the keys of one lock. */
  readonly oneLockACall: boolean
  /** The command with which scripts publish. */
  readonly publish: 'PUBLISH' | 'SPUBLISH'
  /**
   * How many connections have broken so far. What was asked meanwhile may have been sent twice, and
   * come late.
   */
  readonly breaks: number
  /**
   * Runs a script. The keys come without the client's prefix. Rejects with a typed error, in time.
   */
  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown>
  /** Likewise, and rejects with `NOT_REPLICATED` when too few replicas have what it wrote. */
  runReplicated(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown>
  /** All keys that fit a pattern, complete; some may come twice. */
  findKeys(pattern: string): Promise<string[]>
  /** @param clientId tells the channels of this client from those of others */
  subscriptions(prefix: string, clientId: string, listener: MessageListener): Subscriptions
  /** Gives up what is under way, and closes connections of the store's own. */
  close(): void
}

/**
 * One server, which may be another one after a failover: the client library follows the Sentinels.
 */
export function oneServer(
  transport: Transport,
  requestTimeoutMs: number,
  replicas: ReplicaSettings,
  clock: Clock,
): Deployment {
  const replicated = new ReplicatedCalls(transport, replicas, requestTimeoutMs)
  let breaks = 0
  const link = new ResilientCaller(transport, requestTimeoutMs, {
    clock,
    onLost: () => void (breaks += 1),
  })
  return {
    get breaks() {
      return breaks
    },
    keyPrefix: transport.keyPrefix,
    oneLockACall: false,
    publish: 'PUBLISH',
    run: (script, keys, args) =>
      link.call((bySource) => transport.run(bySource ? 'source' : 'hash', script, keys, args)),
    runReplicated: (script, keys, args) =>
      link.call((bySource) => replicated.run(bySource ? 'source' : 'hash', script, keys, args)),
    findKeys: (pattern) =>
      scanKeys(pattern, (...args) => link.call(() => transport.command('SCAN', ...args))),
    subscriptions: (prefix, clientId, listener) =>
      new OneChannel(transport, `${transport.keyPrefix}${prefix}:${clientId}`, listener),
    close() {
      link.close()
      replicated.close()
    },
  }
}

export function cluster(
  transport: ClusterTransport,
  requestTimeoutMs: number,
  replicas: ReplicaSettings,
  clock: Clock,
): Deployment {
  let breaks = 0
  const router = new Router(transport, {
    requestTimeoutMs,
    replicas,
    clock,
    onLost: () => void (breaks += 1),
  })
  const { keyPrefix } = transport
  /**
   * All keys are named: while a slot moves, the members then refuse what would find only some of
   * them.
   */
  const complete = (keys: readonly string[]): string[] =>
    withHelpers(keys.map((key) => keyPrefix + key))
  return {
    get breaks() {
      return breaks
    },
    keyPrefix,
    oneLockACall: true,
    publish: 'SPUBLISH',
    run(script, keys, args) {
      const all = complete(keys)
      return router.call(slotOf(all[0] ?? ''), ({ transport: member }, bySource) =>
        member.run(bySource ? 'source' : 'hash', script, all, args),
      )
    },
    runReplicated(script, keys, args) {
      const all = complete(keys)
      return router.call(slotOf(all[0] ?? ''), ({ replicated }, bySource) =>
        replicated.run(bySource ? 'source' : 'hash', script, all, args),
      )
    },
    async findKeys(pattern) {
      const owners = await router.owners()
      const found = owners.map((member) =>
        scanKeys(pattern, async (...args) => {
          const reply = await member.call((ways) => ways.transport.command('SCAN', ...args))
          if (reply instanceof Refusal) throw explain(reply.error)
          return reply
        }),
      )
      return (await Promise.all(found)).flat()
    },
    subscriptions: (prefix, clientId, listener) =>
      new Channels(
        router,
        listener,
        (lock) => `${keyPrefix}${keyOf(prefix, lock)}:${clientId}`,
        slotOf,
      ),
    close: () => router.close(),
  }
}
