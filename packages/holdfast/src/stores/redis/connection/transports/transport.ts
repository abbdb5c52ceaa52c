/** What the store needs of a client library. */
import type { Script } from '../../rule/scripts.generated.js'

export interface StateListener {
  /** Commands get through now. */
  ready(): void
  /** The connection is gone, or could not be made; the library retries. */
  lost(error?: unknown): void
  /**
   * A connection broke, and the library itself sends the calls in flight again.
   */
  broken?(): void
}

/** How a script is sent: by its hash, or in full where the server does not know it yet. */
export type ScriptForm = 'hash' | 'source'

export interface Transport {
  /** The client's own prefix, which stands before every key. */
  readonly keyPrefix: string
  readonly isReady: boolean
  /** Whether its owner closed the client, or the client gave up: it does not connect again. */
  readonly isClosed?: boolean
  /** Runs a script by its hash, or by its source. The keys are without the prefix. */
  readonly run: (
    by: ScriptForm,
    script: Script,
    keys: readonly string[],
    args: readonly string[],
  ) => Promise<unknown>
  /** Sends a command that names no keys. */
  command(name: string, ...args: string[]): Promise<unknown>
  /** Reports the connection's state until the returned function is called. */
  watchState(listener: StateListener): () => void
  /** Opens a connection of the store's own for `ReplicatedCalls`. */
  connect(): OwnConnection
  /** Opens a connection of the store's own that listens on one channel. */
  listen(channel: string, listener: ChannelListener): ChannelConnection
  /** Opens a connection with the settings of the client, to where these lead now. */
  replace?(): Replacement
  /** Leaves the connection, whose server refuses writes, for one that may lead to the primary. */
  leave?(): void
  /** Whether the library writes what it is given at once, where it is connected. Default false. */
  readonly writesAtOnce?: boolean
  /** Resolves when the library has written what it was given, where it does that later. */
  written?(): Promise<void> | undefined
  /**
   * How long a subscription stays open without a waiter, in milliseconds. Default: until `close`.
   */
  readonly lingerMs?: number
  /** Closes what `leave` opened. */
  close?(): void
}

/** A connection of the store's own that stands in for the client's. */
export interface Replacement {
  readonly transport: Transport
  close(): void
}

/**
 * Connects once. When it breaks, every call fails, and nothing is ever sent again over another
 * connection. Keys are complete: no prefix is put before them.
 */
export interface OwnConnection {
  /** Not quite so: the library may put another connection in its place between two calls. */
  readonly mayChange?: boolean
  call(name: string, ...args: string[]): Promise<unknown>
  close(): void
}

export interface ChannelListener {
  message(text: string): void
  /** The channel is heard now. Called again after each gap, in which messages were lost. */
  listening(): void
  /** The server refuses the subscription with this error. The transport retries. */
  refused(error: unknown): void
}

export interface ChannelConnection {
  /** Makes the connection again, where the store does that itself. */
  renew?(): void
  close(): void
}

/** Where a server listens. */
export interface Address {
  readonly host: string
  readonly port: number
}

/**
 * What the store needs of a client of a Cluster: who the members are, and connections of its own to
 * them.
 */
export interface ClusterTransport {
  readonly keyPrefix: string
  /** Sends a command that names no keys through the caller's client, to any member. */
  command(name: string, ...args: string[]): Promise<unknown>
  /** Returns where the client's settings say that a member is found. */
  mapAddress(address: Address): Address
  /** Opens a connection to a member with the settings of the client. */
  open(address: Address): Promise<MemberConnection>
}

/** A connection of the store's own to a member of a Cluster. */
export interface MemberConnection {
  readonly transport: Transport
  /** Opens another one, for messages on the channels of the member's slots. */
  listenSharded(listener: ShardListener): ShardConnection
  close(): void
}

export interface ShardListener {
  message(channel: string, text: string): void
  /** The connection works. Nothing is subscribed to yet. */
  open(): void
  /** It is broken, or lost a channel whose slot has moved, and will not come back by itself. */
  broken(): void
}

export interface ShardConnection {
  /** Rejects with what the server says, such as MOVED. */
  subscribe(channel: string): Promise<unknown>
  unsubscribe(channel: string): void
  close(): void
}
