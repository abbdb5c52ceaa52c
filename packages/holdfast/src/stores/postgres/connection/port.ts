/** The port through which the store uses either client library. */
import type { Done, TimeLimit } from '../../sql/connection/statements.js'
import type { ListenEvents } from './own-connection.js'
import type { PgStatement, Row } from './pools.js'

/** A statement that is made when there is a connection for it. */
export interface Departure {
  /** Calls `send` with the statement, before any other turn of the event loop. */
  leave(send: (statement: PgStatement) => void): void
}

/** The port that either library serves. */
export interface Client {
  /** Whether a statement can be made when there is a connection, and is then written at once. */
  readonly lends: boolean
  /** Runs a statement outside of any transaction. */
  query(statement: PgStatement, limit: TimeLimit): Promise<readonly Row[]>
  /** The same without a promise, for a statement that is made late. */
  tell(departure: Departure, limit: TimeLimit, ended: Done<readonly Row[]>): void
  /** Resolves when statements of the tick that has just ended are written, if that is later. */
  written?(): Promise<void>
  /** Runs several statements in one transaction of their own. */
  script(text: string): Promise<void>
  /** Listens on a connection that is not the pool's. */
  listen(channel: string, events: ListenEvents): Promise<void>
  /** Opens the connection that is not the pool's again: it may lead to a replaced server. */
  leaveListener(): void
  /** Closes the connection that is not the pool's. It is opened again when it is needed. */
  closeListener(): Promise<void>
}
