/** Statements on connections that a pool lends. */
import { isInsideTransaction, isReadOnly } from '../errors.js'
import { tooLate, type Done, type TimeLimit } from '../../sql/connection/statements.js'
import {
  statement,
  WITHOUT_AUTOCOMMIT,
  type Connections,
  type MysqlConnection,
  type Statement,
} from './clients.js'
import { limitOf, MOST_LEFT, warnOfOpenTransaction } from './outside-transaction.js'

/** Uses a connection, and calls `ended` when it needs it no more. */
type Use<T> = (connection: MysqlConnection, ended: Done<T>) => void

/**
 * Runs a prepared statement: how to quote text would depend on the mode of the session.
 */
export function execute(pool: Connections, of: Statement, limit: TimeLimit): Promise<unknown> {
  return new Promise((resolve, reject) =>
    borrow(
      pool,
      limit,
      (connection, ended) => tell(connection, of, ended),
      (error, rows) => (error === undefined ? resolve(rows) : reject(error as Error)),
    ),
  )
}

/** Runs a prepared statement on a connection. */
export function tell(connection: MysqlConnection, of: Statement, ended: Done<unknown>): void {
  if (connection.tell) connection.tell(of, ended)
  else connection.execute(of).then(([rows]) => ended(undefined, rows), ended)
}

/** Runs a prepared statement without rows. */
export function change(
  connection: MysqlConnection,
  sql: string,
  values: string[],
  ended: Done<unknown>,
): void {
  if (connection.change) connection.change(sql, values, ended)
  else tell(connection, statement(sql, values), ended)
}

/**
 * Uses a connection of the pool, and passes on what `use` comes to.
 *
 * A connection that is inside of a transaction is left, and so is one to a server that takes no
 * writes. The pool would lend it again at once. `use` then gets another one.
 */
export function borrow<T>(pool: Connections, limit: TimeLimit, use: Use<T>, ended: Done<T>): void {
  new Loan(pool, limit, use, ended).begin()
}

class Loan<T> {
  readonly #pool: Connections
  readonly #limit: TimeLimit
  readonly #use: Use<T>
  readonly #ended: Done<T>
  #left = 0

  constructor(pool: Connections, limit: TimeLimit, use: Use<T>, ended: Done<T>) {
    this.#pool = pool
    this.#limit = limit
    this.#use = use
    this.#ended = ended
  }

  begin(): void {
    const onLent: Done<MysqlConnection> = (error, connection) => {
      if (connection) this.#hold(connection)
      else this.#ended(error)
    }
    if (this.#pool.lend) this.#pool.lend(onLent)
    else this.#pool.getConnection().then((connection) => onLent(undefined, connection), onLent)
  }

  #hold(connection: MysqlConnection): void {
    if (this.#limit.over) {
      connection.release()
      this.#ended(tooLate())
      return
    }
    this.#limit.giveUp = () => connection.destroy()
    const onUsed: Done<T> = (error, result) => {
      if (error !== undefined) return this.#failed(connection, error)
      if (!this.#limit.over) connection.release()
      this.#ended(undefined, result)
    }
    try {
      this.#use(connection, onUsed)
    } catch (error) {
      onUsed(error)
    }
  }

  #failed(connection: MysqlConnection, error: unknown): void {
    if (this.#limit.over) return this.#ended(error)
    // The only connection may be in the transaction of the caller, who sees the error.
    const isInside =
      error === WITHOUT_AUTOCOMMIT || (isInsideTransaction(error) && limitOf(this.#pool) > 1)
    // The pool removes broken connections itself.
    if (isInside || isReadOnly(error)) connection.destroy()
    else connection.release()
    if (!isInside || this.#left >= MOST_LEFT) return this.#ended(error)
    this.#left += 1
    warnOfOpenTransaction()
    this.begin()
  }
}
