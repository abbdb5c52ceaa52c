/**
 * One port for the two client libraries, `pg` and `postgres`. The store never closes the pool that
 * the caller passes in.
 */
import { libraryWrites } from '../../../async/library-writes.js'
import { LockUsageError } from '../../../errors.js'
import { tooLate, type TimeLimit } from '../../sql/connection/statements.js'
import { warnOnce } from '../../sql/connection/warn-once.js'
import { codeOf, isInsideTransaction, isReadOnly } from '../errors.js'
import { InstanceListener } from './instance-listener.js'
import { OwnConnection, type ListenEvents } from './own-connection.js'
import {
  checkSingle,
  endReadOnly,
  limitOf,
  MOST_TRIES,
  REFUSE_INSIDE,
  rollBackIdle,
} from './unusable-connections.js'
import {
  ROLLED_BACK,
  transactionStatusOf,
  warnOfOpenTransaction,
  type WithTransactionStatus,
} from './transaction-status.js'
import {
  isPgPool,
  isPostgresJs,
  type CheckedStatement,
  type LibraryStatement,
  type PgPool,
  type PgStatement,
  type PostgresJs,
  type Row,
} from './pools.js'
import { checkTransform, rawRows } from './raw-rows.js'

/** A client that a pool of `pg` lends. `release` with an error ends it. */
interface PgPoolClient extends WithTransactionStatus {
  query(
    statement: LibraryStatement,
    done: (error: Error | null, answer: { rows: unknown[] }) => void,
  ): void
  release(error?: Error): void
  once(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
}

/** The port that either library serves. */
export interface Client {
  /** Runs a statement outside of any transaction. */
  query(statement: PgStatement, limit: TimeLimit): Promise<readonly Row[]>
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
  readonly #listener: InstanceListener

  constructor(sql: PostgresJs) {
    this.#sql = sql
    this.#listener = new InstanceListener(sql)
  }

  /**
   * The library shows no connection, so the server has to refuse the ones inside of transactions.
   * The refusal has aborted the transaction. It is rolled back at once: a transaction that begins
   * on that connection would fail, and the library would never lend the connection again.
   * An instance with one connection has no other: its program may still be in the transaction.
   */
  async query(statement: PgStatement, limit: TimeLimit): Promise<readonly Row[]> {
    if (statement.checked === undefined) return this.#send(statement, limit)
    return this.#outside(() => this.#send(statement, limit), limit)
  }

  async #outside<T>(send: () => PromiseLike<T>, limit?: TimeLimit): Promise<T> {
    const mostTries = limitOf(this.#sql) === 1 ? 1 : MOST_TRIES
    for (let tries = 1; ; tries += 1) {
      try {
        return await send()
      } catch (error) {
        if (!isInsideTransaction(error)) throw error
        warnOfOpenTransaction(ROLLED_BACK)
        if (tries >= mostTries) throw error
        await rollBackIdle(this.#sql, () => limit?.over === true)
        if (limit?.over === true) throw tooLate()
      }
    }
  }

  /** The library names the statement itself, unless the instance has `prepare: false`. */
  #send(statement: PgStatement, limit: TimeLimit): Promise<readonly Row[]> {
    const checked = statement.checked?.()
    const { name, text, values } = checked ?? statement
    // The library may keep a query for longer than the limit, and send it then. Its `cancel` would
    // leave a connection that is being made unusable.
    limit.giveUp = checked?.empty
    // The library's types do not admit plain strings as parameters of a query as text.
    const pending = this.#sql.unsafe(text, values as never[], { prepare: name !== undefined })
    return rawRows(this.#sql, text, pending)
  }

  readonly written = libraryWrites

  async script(text: string): Promise<void> {
    await checkSingle(this.#sql)
    try {
      await this.#outside(() => this.#sql.unsafe(REFUSE_INSIDE + text))
    } catch (error) {
      if (isReadOnly(error)) await endReadOnly(this.#sql)
      throw error
    }
  }

  listen(channel: string, events: ListenEvents): Promise<void> {
    return this.#listener.listen(channel, events)
  }

  /** The server that took no writes has ended it: see rule/leave-read-only.sql. */
  leaveListener(): void {}

  closeListener(): Promise<void> {
    return this.#listener.close()
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
  #listenersChecked = false

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
    if (!this.#listenersChecked) this.#checkListeners()
    let tries = 0
    return new Promise((resolve, reject) => {
      const again = (): void => {
        tries += 1
        this.#send(statement, limit, onRows)
      }
      const onRows: OnRows = (error, rows) => {
        if (!error) return resolve(rows)
        const code = codeOf(error)
        if (this.#prepares && UNPREPARED.has(code)) this.#prepares = false
        else if (isInsideTransaction(error) && tries < MOST_TRIES) warnOfOpenTransaction()
        else return reject(error)
        again()
      }
      again()
    })
  }

  /**
   * Uses the store's own connection when all of the pool's are in use. Otherwise long transactions,
   * perhaps those that the leases protect, would delay a renewal until its lease is lost.
   */
  #send(statement: PgStatement, limit: TimeLimit, onRows: OnRows): void {
    if (isExhausted(this.#pool)) {
      this.#own.query(this.#asSent(statement), limit).then(
        ({ rows }) => onRows(undefined, rows as Row[]),
        (error: Error) => {
          if (isReadOnly(error)) this.#own.leave()
          onRows(error, [])
        },
      )
      return
    }
    // A callback, since the loss of the connection can arrive before a promise of it resolves.
    this.#pool.connect((error, lent) => {
      if (error) return onRows(error, [])
      const client = lent as PgPoolClient
      if (limit.over) {
        client.release()
        return onRows(tooLate(), [])
      }
      const status = transactionStatusOf(client)
      if (status === 'T' || status === 'E') return this.#sendPast(client, statement, limit, onRows)
      const safe = status === 'I' ? statement : (statement.checked?.() ?? statement)
      sendThrough(client, this.#asSent(safe), limit, onRows)
    })
  }

  /**
   * Sends a statement through another connection than one that a program left inside its
   * transaction. It borrows the busy connection meanwhile, and returns it as it was. The program
   * may still use that connection, and the pool would lend it again at once.
   */
  #sendPast(busy: PgPoolClient, statement: PgStatement, limit: TimeLimit, onRows: OnRows): void {
    warnOfOpenTransaction()
    busy.on('error', ignored)
    let borrowed = true
    const giveBack = (): void => {
      if (!borrowed) return
      borrowed = false
      busy.removeListener('error', ignored)
      busy.release()
    }
    // The other connection may never come. Another busy one may have been borrowed before.
    const { giveUp } = limit
    limit.giveUp = () => {
      giveUp?.()
      giveBack()
    }
    this.#send(statement, limit, (error, rows) => {
      giveBack()
      onRows(error, rows)
    })
  }

  /** At the first use: a program may listen after it has made the store. */
  #checkListeners(): void {
    this.#listenersChecked = true
    if (this.#pool.listenerCount?.('error') !== 0) return
    warnOnce(
      'HOLDFAST_POOL_ERRORS',
      "A pool of pg has no listener for its event 'error'. When the server restarts, the loss of an idle connection will " +
        "end this process. Add pool.on('error', …).",
    )
  }

  /** Without a name where names of prepared statements do not last. */
  #asSent({ name, text, values }: PgStatement | CheckedStatement): LibraryStatement {
    return { name: this.#prepares ? name : undefined, text, values }
  }

  async script(text: string): Promise<void> {
    const limit: TimeLimit = { over: false, isMovable: false, giveUp: undefined }
    await this.query({ name: undefined, text: REFUSE_INSIDE + text, values: [] }, limit)
  }

  listen(channel: string, events: ListenEvents): Promise<void> {
    return this.#own.listen(channel, events)
  }

  leaveListener(): void {
    this.#own.leave()
  }

  closeListener(): Promise<void> {
    return this.#own.close()
  }
}

/** For a borrowed connection: the pool removes one that has ended. */
function ignored(): void {}

/** Sends a statement as the pool does, with a limit: a connection that is too late is ended. */
function sendThrough(
  client: PgPoolClient,
  statement: LibraryStatement,
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
