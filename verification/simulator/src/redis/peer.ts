/** What the two ends of a modelled connection know of each other. */
import type { Host } from '../server/host.js'

/** An answer that is an error. */
export class ReplyError extends Error {
  override readonly name = 'ReplyError'
}

/** The client's end of a connection, as the server sees it. */
export interface Peer {
  /** A message of a channel that it listens on. */
  push(text: string): void
  /** The server has closed the connection. */
  closed(): void
}

/** The server's end of its connections, as the client sees it. */
export interface Endpoint {
  readonly host: Host
  /** How often the server has been started: connections belong to one life of it. */
  readonly life: number
  accept(peer: Peer): void
  /** The client's end of the connection is gone. */
  drop(peer: Peer): void
  /** Does a command, as one atomic step. Throws a ReplyError where the server answers with one. */
  execute(peer: Peer, words: readonly string[]): unknown
}

/** The lock of a key, such as `hf:{lock}`. */
export function lockOf(key: string): string {
  return key.slice(key.indexOf('{') + 1, -1)
}
