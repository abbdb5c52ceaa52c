/**
 * The ports over the two client libraries, `pg` and `postgres`. The store never closes the pool
 * that the caller passes in.
 */
import { LockUsageError } from '../../../errors.js'
import { TimeLimit, tooLate, type Done } from '../../sql/connection/statements.js'
import { warnOnce } from '../../sql/connection/warn-once.js'
import { codeOf, isInsideTransaction, isReadOnly } from '../errors.js'
import { OwnConnection, type ListenEvents } from './own-connection.js'
import { MOST_TRIES, REFUSE_INSIDE } from './unusable-connections.js'
import {
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
  type Row,
} from './pools.js'
import type { Client, Departure } from './port.js'
import { PostgresJsClient } from './postgres-js-client.js'
import { checkTransform } from './raw-rows.js'

/** A client that a pool of `pg` lends. `release` with an error ends it. */
interface PgPoolClient extends WithTransactionStatus {
  query(
    statement: LibraryStatement,
    ended: (error: Error | null, answer: { rows: unknown[] }) => void,
  ): void
  release(error?: Error): void
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
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

type OnRows = Done<readonly Row[]>

/**
 * A prepared statement that is missing or exists already, since a pooler gives each transaction
 * another connection.
 */
const UNPREPARED = new Set(['26000', '42P05'])

class PgClient implements Client {
  readonly lends = true
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
  tell(departure: Departure, limit: TimeLimit, ended: OnRows): void {
    if (!this.#listenersChecked) this.#checkListeners()
    let tries = 0
    const again = (): void => {
      tries += 1
      this.#send(departure, limit, onRows)
    }
    const onRows: OnRows = (error, rows) => {
      if (error === undefined) return ended(undefined, rows)
      if (this.#prepares && UNPREPARED.has(codeOf(error))) this.#prepares = false
      else if (isInsideTransaction(error) && tries < MOST_TRIES) warnOfOpenTransaction()
      else return ended(error)
      again()
    }
    again()
  }

  query(statement: PgStatement, limit: TimeLimit): Promise<readonly Row[]> {
    return new Promise((resolve, reject) =>
      this.tell({ leave: (send) => send(statement) }, limit, (error, rows) =>
        // Several statements have no rows of their own.
        error === undefined ? resolve(rows ?? []) : reject(error),
      ),
    )
  }

  /**
   * Uses the store's own connection when all of the pool's are in use. Otherwise long transactions,
   * perhaps those that the leases protect, would delay a renewal until its lease is lost.
   */
  #send(departure: Departure, limit: TimeLimit, onRows: OnRows): void {
    if (isExhausted(this.#pool)) {
      departure.leave((statement) => this.#sendApart(statement, limit, onRows))
      return
    }
    // A callback, since the loss of the connection can arrive before a promise of it resolves.
    this.#pool.connect((error, lent) => {
      if (error) return onRows(error)
      const client = lent as PgPoolClient
      if (limit.over) {
        client.release()
        return onRows(tooLate())
      }
      const status = transactionStatusOf(client)
      if (status === 'T' || status === 'E') return this.#sendPast(client, departure, limit, onRows)
      const send = sender(client, limit, onRows)
      departure.leave((statement) => {
        const safe = status === 'I' ? statement : (statement.checked?.() ?? statement)
        send(this.#asSent(safe))
      })
    })
  }

  #sendApart(statement: PgStatement, limit: TimeLimit, onRows: OnRows): void {
    this.#own.query(this.#asSent(statement), limit).then(
      ({ rows }) => onRows(undefined, rows as Row[]),
      (error: Error) => {
        if (isReadOnly(error)) this.#own.leave()
        onRows(error)
      },
    )
  }

  /**
   * Sends a statement through another connection than one that a program left inside its
   * transaction. It borrows the busy connection meanwhile, and returns it as it was. The program
   * may still use that connection, and the pool would lend it again at once.
   */
  #sendPast(busy: PgPoolClient, departure: Departure, limit: TimeLimit, onRows: OnRows): void {
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
    this.#send(departure, limit, (error, rows) => {
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
    const limit = new TimeLimit(false)
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

/**
 * Returns what sends a statement as the pool does, with a limit: a connection that is too late is
 * ended. The pool has ceased to hear of its loss, which may come before the statement is sent.
 */
function sender(
  client: PgPoolClient,
  limit: TimeLimit,
  onRows: OnRows,
): (statement: LibraryStatement) => void {
  let isSent = false
  let lost: Error | undefined
  let released = false
  const end = (error?: Error): boolean => {
    if (released) return false
    released = true
    client.removeListener('error', onLost)
    client.release(error)
    return true
  }
  const onLost = (error: Error): void => {
    if (!isSent) lost = error
    else if (end(error)) onRows(error)
  }
  // The loss of a connection without an error listener would end the process.
  client.on('error', onLost)
  return (statement) => {
    isSent = true
    limit.giveUp = () => onLost(new Error('the connection did not answer in time'))
    if (lost) return onLost(lost)
    client.query(statement, (error, answer) => {
      if (error) onLost(error)
      else if (end()) onRows(undefined, answer.rows as Row[])
    })
  }
}

function isExhausted({ options, totalCount, idleCount }: PgPool): boolean {
  const max = 'max' in options && typeof options.max === 'number' ? options.max : Infinity
  return idleCount === 0 && totalCount >= max
}
