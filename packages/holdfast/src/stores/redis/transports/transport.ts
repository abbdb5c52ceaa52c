/** What the store needs of a client library, whichever it is. */
import type { Script } from '../scripts.generated.js'

export interface StateListener {
  /** Commands get through now. */
  ready(): void
  /** The connection is gone, or could not be made; the library goes on trying. */
  lost(error?: unknown): void
}

export interface Transport {
  /** What the client was told to put before every key. */
  readonly keyPrefix: string
  readonly isReady: boolean
  /** Runs a script by its hash, or by its source. The keys are without the prefix. */
  run(
    by: 'hash' | 'source',
    script: Script,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<unknown>
  /** Sends a command that names no keys. */
  command(name: string, ...args: string[]): Promise<unknown>
  /** Tells of the connection's state until the returned function is called. */
  watchState(listener: StateListener): () => void
  /** Opens a connection of the store's own for transactions. */
  connect(): OwnConnection
  /** Opens a connection of the store's own that listens on one channel. */
  listen(channel: string, listener: ChannelListener): ChannelConnection
}

/**
 * Connects once. When it breaks, every call fails, and nothing is ever sent again over another connection. Keys are
 * complete: no prefix is put before them.
 */
export interface OwnConnection {
  call(name: string, ...args: string[]): Promise<unknown>
  close(): void
}

export interface ChannelListener {
  message(text: string): void
  /** The channel is heard now. Called again after each gap, in which messages were lost. */
  listening(): void
}

export interface ChannelConnection {
  close(): void
}
