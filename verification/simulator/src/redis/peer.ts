/** What the two ends of a modelled connection know of each other. */

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

/** The lock of a key, such as `hf:{lock}`. */
export function lockOf(key: string): string {
  return key.slice(key.indexOf('{') + 1, -1)
}
