/**
 * One port for the two client libraries, `pg` and `postgres`. The store never closes the pool that
 * the caller passes in.
 */
import { LockUsageError } from '../../errors.js'
import { tooLate, type TimeLimit } from '../sql/statements.js'
import { codeOf } from './errors.js'
import { closeWithin } from './close-within.js'
import { OwnConnection, type ListenEvents } from './own-connection.js'
import {
  isPgPool,
  isPostgresJs,
  type PgPool,
  type PgStatement,
  type PostgresJs,
  type Row,
} from './pools.js'
import { checkTransform, rawRows } from './raw-rows.js'

/** A client that a pool of `pg` lends. `release` with an error ends it. */
interface PgPoolClient {
  query(
    statement: PgStatement,
    done: (error: Error | null, answer: { rows: unknown[] }) => void,
  ): void
  release(error?: Error): void
  once(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
}

/** The port that either library serves. */
export interface Client {
  /** Runs a statement outside of any transaction. */
  query(statement: PgStatement, limit: TimeLimit): Promise<readonly Row[]>
  /** Runs several statements in one transaction. */
  script(text: string): Promise<void>
  /** Listens on a connection that is not the pool's. */
  listen(channel: string, events: ListenEvents): Promise<void>
  /** Closes the connection that is not the pool's. It is opened again when it is needed. */
  closeListener(): Promise<void>
}

/**
 * Returns the port of a pool.
 * @throws LockUsageError for anything but a pool of the two libraries, and for a pool that
 * transforms rows.
 */
export function clientOf(pool: unknown): Client {
  if (isPostgresJs(pool)) {
    checkTransform(pool)
    return new PostgresJsClient(pool)
  }
  if (isPgPool(pool)) return new PgClient(pool)
  throw new LockUsageError(
    'postgresStore needs a pool: new pg.Pool(…) of the package "pg", or postgres(…) of the package "postgres".',
    { store: 'postgres' },
  )
}

class PostgresJsClient implements Client {
  readonly #sql: PostgresJs
  #listening: { unlisten(): Promise<void> } | undefined

  constructor(sql: PostgresJs) {
    this.#sql = sql
  }

  /** The library names the statement itself, unless the instance has `prepare: false`. */
  query({ name, text, values }: PgStatement): Promise<readonly Row[]> {
    // The library's types do not admit plain strings as parameters of a query as text.
    const pending = this.#sql.unsafe(text, values as never[], { prepare: name !== undefined })
    return rawRows(this.#sql, text, pending)
  }

  async script(text: string): Promise<void> {
    await this.#sql.unsafe(text)
  }

  /** The library opens a connection for this, and opens it again after a loss. */
  async listen(channel: string, events: ListenEvents): Promise<void> {
    let listens = 0
    const onNotify = (payload: string): void => events.onNotify(payload)
    this.#listening = await this.#sql.listen(channel, onNotify, () => {
      listens += 1
      if (listens > 1) events.onLost(true)
    })
  }

  async closeListener(): Promise<void> {
    const listening = this.#listening
    this.#listening = undefined
    // On a silent connection the library would wait forever for an answer.
    await closeWithin(listening?.unlisten())
  }
}

/** With an error the rows are empty. */
type OnRows = (error: Error | undefined, rows: readonly Row[]) => void

/**
 * A prepared statement that is missing or exists already, since a pooler gives each transaction
 * another connection.
 */
const UNPREPARED = new Set(['26000', '42P05'])

class PgClient implements Client {
  readonly #pool: PgPool
  readonly #own: OwnConnection
  #prepares = true

  constructor(pool: PgPool) {
    this.#pool = pool
    this.#own = new OwnConnection(pool)
  }

  /**
   * The name of a prepared statement comes from its text, so a name that another client prepared on
   * this connection runs the same. Where names do not last, the server refuses before it does
   * anything. From then on the client sends the text.
   */
  query(statement: PgStatement, limit: TimeLimit): Promise<readonly Row[]> {
    return new Promise((resolve, reject) => {
      const asText = (): void => {
        const unnamed = { ...statement, name: undefined }
        this.#send(unnamed, limit, (error, rows) => (error ? reject(error) : resolve(rows)))
      }
      if (!this.#prepares) return asText()
      this.#send(statement, limit, (error, rows) => {
        if (!error) return resolve(rows)
        if (!UNPREPARED.has(codeOf(error))) return reject(error)
        this.#prepares = false
        asText()
      })
    })
  }

  /**
   * Uses the store's own connection when all of the pool's are in use. Otherwise long transactions,
   * perhaps those that the leases protect, would delay a renewal until its lease is lost.
   */
  #send(statement: PgStatement, limit: TimeLimit, onRows: OnRows): void {
    if (isExhausted(this.#pool)) {
      this.#own.query(statement).then(
        ({ rows }) => onRows(undefined, rows as Row[]),
        (error: Error) => onRows(error, []),
      )
      return
    }
    // A callback, since the loss of the connection can arrive before a promise of it resolves.
    this.#pool.connect((error, lent) => {
      if (error) return onRows(error, [])
      const client = lent as PgPoolClient
      if (!limit.over) return sendThrough(client, statement, limit, onRows)
      client.release()
      onRows(tooLate(), [])
    })
  }

  async script(text: string): Promise<void> {
    await this.#pool.query(text)
  }

  listen(channel: string, events: ListenEvents): Promise<void> {
    return this.#own.listen(channel, events)
  }

  closeListener(): Promise<void> {
    return this.#own.close()
  }
}

/** Sends a statement as the pool does, with a limit: a connection that is too late is ended. */
function sendThrough(
  client: PgPoolClient,
  statement: PgStatement,
  limit: TimeLimit,
  onRows: OnRows,
): void {
  let released = false
  const end = (error?: Error): boolean => {
    if (released) return false
    released = true
    client.removeListener('error', onLost)
    client.release(error)
    return true
  }
  const onLost = (error: Error): void => {
    if (end(error)) onRows(error, [])
  }
  // The loss of a connection without an error listener would end the process.
  client.once('error', onLost)
  limit.giveUp = () => onLost(new Error('the connection did not answer in time'))
  client.query(statement, (error, answer) => {
    if (error) onLost(error)
    else if (end()) onRows(undefined, answer.rows as Row[])
  })
}

function isExhausted({ options, totalCount, idleCount }: PgPool): boolean {
  const max = 'max' in options && typeof options.max === 'number' ? options.max : Infinity
  return idleCount === 0 && totalCount >= max
}
