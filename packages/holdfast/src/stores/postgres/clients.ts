/**
 * The two client libraries as one: `pg` and `postgres`. The pool that the caller passes in is never
 * closed.
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
import { checkTransform, untransformed } from './untransformed.js'

/** A client that such a pool has lent. With an error it is ended in place of being used again. */
interface PgPoolClient {
  query(
    statement: PgStatement,
    done: (error: Error | null, answer: { rows: unknown[] }) => void,
  ): void
  release(error?: Error): void
  once(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
}

/** What either library does for the store. */
export interface Client {
  /** A statement outside any transaction. */
  query(statement: PgStatement, limit: TimeLimit): Promise<readonly Row[]>
  /** Several statements in one transaction. */
  script(text: string): Promise<void>
  /** Listens on a connection that is not the pool's. */
  listen(channel: string, events: ListenEvents): Promise<void>
  /** Ends the connection that is not the pool's. It is made anew when it is needed again. */
  rest(): Promise<void>
}

/**
 * @throws LockUsageError for anything else than the two libraries' pools, and for one whose rows
 * are transformed.
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

  /**
   * The library gives the statement a name of its own, unless `prepare` is false among the options
   * of the instance.
   */
  query({ name, text, values }: PgStatement): Promise<readonly Row[]> {
    // The library's type of a parameter does not admit plain strings where it cannot see the query.
    const pending = this.#sql.unsafe(text, values as never[], { prepare: name !== undefined })
    return untransformed(this.#sql, text, pending)
  }

  async script(text: string): Promise<void> {
    await this.#sql.unsafe(text)
  }

  /** The library makes a connection for this, and makes it anew when it is lost. */
  async listen(channel: string, events: ListenEvents): Promise<void> {
    let listens = 0
    const onNotify = (payload: string): void => events.onNotify(payload)
    this.#listening = await this.#sql.listen(channel, onNotify, () => {
      listens += 1
      if (listens > 1) events.onLost(true)
    })
  }

  async rest(): Promise<void> {
    const listening = this.#listening
    this.#listening = undefined
    // Where nothing arrives any more the library would wait for an answer for ever.
    await closeWithin(listening?.unlisten())
  }
}

/** With an error the rows mean nothing. */
type OnRows = (error: Error | undefined, rows: readonly Row[]) => void

/**
 * A prepared statement that is not there, or is there already: what a pooler does that gives each
 * transaction another connection.
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
   * The name of a prepared statement comes from its text, so that a connection that had it from
   * somebody else runs the same. Where names do not last the server says so before it does
   * anything, and from then on the text is sent.
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
   * A pool whose connections are all in use would keep a renewal waiting until the lease is lost:
   * by long transactions, perhaps the very ones that the leases protect. Then the connection of our
   * own serves.
   */
  #send(statement: PgStatement, limit: TimeLimit, onRows: OnRows): void {
    if (isExhausted(this.#pool)) {
      this.#own.query(statement).then(
        ({ rows }) => onRows(undefined, rows as Row[]),
        (error: Error) => onRows(error, []),
      )
      return
    }
    // By a callback: the loss of the connection can arrive together with it, before a promise would
    // tell that it is there.
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

  rest(): Promise<void> {
    return this.#own.rest()
  }
}

/**
 * As the pool itself does it, but for the time limit: a connection that does not answer in time is
 * ended.
 */
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
  // The loss of a connection that nobody listens to would end the process.
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
