/** The port over an instance of `postgres`. */
import { libraryWrites } from '../../../async/library-writes.js'
import { tooLate, type Done, type TimeLimit } from '../../sql/connection/statements.js'
import { isInsideTransaction, isReadOnly } from '../errors.js'
import { InstanceListener } from './instance-listener.js'
import type { ListenEvents } from './own-connection.js'
import type { PgStatement, PostgresJs, Row } from './pools.js'
import type { Client, Departure } from './port.js'
import { rawRows } from './raw-rows.js'
import { ROLLED_BACK, warnOfOpenTransaction } from './transaction-status.js'
import {
  checkSingle,
  endReadOnly,
  limitOf,
  MOST_TRIES,
  REFUSE_INSIDE,
  rollBackIdle,
} from './unusable-connections.js'

export class PostgresJsClient implements Client {
  readonly lends = false
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

  tell(departure: Departure, limit: TimeLimit, ended: Done<readonly Row[]>): void {
    departure.leave((statement) => {
      this.query(statement, limit).then((rows) => ended(undefined, rows), ended)
    })
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
