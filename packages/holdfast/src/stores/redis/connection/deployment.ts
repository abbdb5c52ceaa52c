/**
 * What the store runs on, as far as it has to know: one server at a time, or the members of a
 * Cluster.
 */
import type { Clock } from '../../../clock/clock.js'
import type { LockError } from '../../../errors.js'
import { keyOf, withHelpers } from '../keys.js'
import { DeclaringSender } from './declared-keys.js'
import { ResilientCaller, type ReplyListener } from './resilient-caller.js'
import { WakeUpChannel } from './wake-up-channel.js'
import { LingeringChannel } from './lingering-channel.js'
import { WakeUpChannels } from './cluster/wake-up-channels.js'
import type { Send } from './cluster/member.js'
import { Router } from './cluster/router.js'
import { scanMembers } from './cluster/scan-members.js'
import { slotOf } from './cluster/slots.js'
import { explain, readOnlyError } from '../errors.js'
import type { Script } from '../rule/scripts.generated.js'
import { ReplicatedCalls, type ReplicaSettings } from './replicas.js'
import { scanKeys, type ScannedKeys } from './scan-keys.js'
import { libraryWrites } from '../../../async/library-writes.js'
import type { ClusterTransport, Transport } from './transports/transport.js'
import type { MessageListener, Subscriptions } from './subscriptions.js'

export interface OneServerSettings {
  readonly requestTimeoutMs: number
  readonly replicas: ReplicaSettings
  readonly clock: Clock
  /** Whether each script call declares the helper keys of its locks. */
  readonly declareKeys: boolean
}

type ScriptCall = [script: Script, keys: readonly string[], args: readonly string[]]

export type RunScript = (...call: ScriptCall) => Promise<unknown>
/** Runs a script without a promise: each request of a process would have to wait for one more. */
export type SendScript = (listener: ReplyListener, ...call: ScriptCall) => void

export interface Deployment {
  /** The client's own prefix, which stands before every key. */
  readonly keyPrefix: string
  /** Whether a call may only concern the keys of one lock. */
  readonly oneLockACall: boolean
  /** The command with which scripts publish. */
  readonly publish: 'PUBLISH' | 'SPUBLISH'
  /**
   * How many connections have broken so far. What was asked meanwhile may have been sent twice, and
   * come late.
   */
  breaks: number
  /**
   * Runs a script. The keys come without the client's prefix. Rejects with a typed error, in time.
   */
  readonly run: RunScript
  /** Likewise, for a listener. */
  readonly send: SendScript
  /** Likewise, and fails with `NOT_REPLICATED` when too few replicas have what it wrote. */
  readonly sendReplicated: SendScript
  /** Finds keys that fit a pattern, one step of a scan of all servers. */
  scan(pattern: string, cursor: string | undefined): Promise<ScannedKeys>
  /** @param clientId distinguishes the channels of this client from those of others */
  subscriptions(prefix: string, clientId: string, listener: MessageListener): Subscriptions
  /** Whether a server has confirmed a write of this store. */
  hasWritten: boolean
  /** Leaves the server that refused a write with this error. Returns the error for the caller. */
  readOnly(error: LockError): LockError
  /**
   * Reports each time a connection is ready again, until the returned function is called. On a
   * client of the caller's also after `close`.
   */
  whenReady(work: () => void): () => void
  /** Runs a script as soon as it can, also after `close`. Ignores the answer. */
  sendLate(...call: ScriptCall): void
  /** Whether the library writes what it is given at once. Default false. */
  readonly writesAtOnce?: boolean
  /** Resolves when the library has written what it was given, where it does that later. */
  written(): Promise<void> | undefined
  /** Rejects calls in flight, and closes connections of the store's own. */
  close(): void
}

/**
 * One server, which may be another one after a failover: the client library follows the Sentinels.
 */
export function oneServer(
  transport: Transport,
  { requestTimeoutMs, replicas, clock, declareKeys }: OneServerSettings,
): Deployment {
  const replicated = new ReplicatedCalls(transport, replicas, requestTimeoutMs)
  const caller = new ResilientCaller(transport, requestTimeoutMs, {
    clock,
    onLost: () => void (deployment.breaks += 1),
  })
  const scripts = new DeclaringSender(caller, transport.run, declareKeys)
  const deployment: Deployment = {
    breaks: 0,
    hasWritten: false,
    keyPrefix: transport.keyPrefix,
    oneLockACall: false,
    publish: 'PUBLISH',
    run: (...call) => scripts.run(...call),
    send: scripts.send.bind(scripts),
    sendReplicated: (listener, script, keys, args) =>
      caller.send((by) => replicated.run(by, script, scripts.keysOf(keys), args), listener),
    scan: (pattern, cursor) =>
      scanKeys(pattern, cursor, (...args) => caller.call(() => transport.command('SCAN', ...args))),
    subscriptions(prefix, clientId, listener) {
      const channel = [transport, transport.keyPrefix + prefix, clientId, listener] as const
      const { lingerMs } = transport
      if (lingerMs === undefined) return new WakeUpChannel(...channel)
      return new LingeringChannel(channel, lingerMs, clock)
    },
    readOnly(error) {
      // Also before the first write: this process may have started while the endpoint moved.
      transport.leave?.()
      replicated.drop()
      return readOnlyError(error, deployment.hasWritten)
    },
    whenReady: (ready) => transport.watchState({ ready, lost: () => undefined }),
    sendLate: (script, keys, args) =>
      void transport.run('source', script, scripts.keysOf(keys), args).catch(() => undefined),
    writesAtOnce: transport.writesAtOnce === true,
    written: () => transport.written?.(),
    close() {
      caller.close()
      replicated.close()
      transport.close?.()
    },
  }
  return deployment
}

export function cluster(
  transport: ClusterTransport,
  requestTimeoutMs: number,
  replicas: ReplicaSettings,
  clock: Clock,
): Deployment {
  const router = new Router(transport, {
    requestTimeoutMs,
    replicas,
    clock,
    onLost: () => void (deployment.breaks += 1),
  })
  /**
   * All keys are named: while a slot moves, the members then refuse what would find only some of
   * them.
   */
  const call = (
    keys: readonly string[],
    send: (all: readonly string[], ...member: Parameters<Send>) => Promise<unknown>,
  ): Promise<unknown> => {
    const all = withHelpers(keys.map((key) => transport.keyPrefix + key))
    return router.call(slotOf(all[0] ?? ''), (ways, by) => send(all, ways, by))
  }
  const run: RunScript = (script, keys, args) =>
    call(keys, (all, { transport }, by) => transport.run(by, script, all, args))
  const deployment: Deployment = {
    breaks: 0,
    hasWritten: false,
    keyPrefix: transport.keyPrefix,
    oneLockACall: true,
    publish: 'SPUBLISH',
    run,
    send: (listener, ...script) => report(run(...script), listener),
    sendReplicated: (listener, script, keys, args) =>
      report(
        call(keys, (all, { replicated }, by) => replicated.run(by, script, all, args)),
        listener,
      ),
    scan: (pattern, cursor) => scanMembers(router, pattern, cursor),
    subscriptions: (prefix, clientId, listener) =>
      new WakeUpChannels(router, listener, {
        start: transport.keyPrefix + prefix,
        nameOf: (lock) => `${transport.keyPrefix}${keyOf(prefix, lock)}:${clientId}`,
        slotOf,
        clock,
      }),
    // The members say who the primary is, and the router follows.
    readOnly: (error) => error,
    whenReady: (work) => router.whenReady(work),
    sendLate: (...script) => void run(...script).catch(() => undefined),
    // Promises route each call to its member.
    written: libraryWrites,
    close: () => router.close(),
  }
  return deployment
}

function report(reply: Promise<unknown>, listener: ReplyListener): void {
  reply.then(
    (value) => listener.done(undefined, value),
    (error: unknown) => listener.done(explain(error)),
  )
}
