/**
 * The part of `mysql2` that the store uses. The store imports nothing from it, and never closes the
 * pool that the caller passes in.
 */
import { LockUsageError } from '../../../errors.js'
import type { Done } from '../../sql/connection/statements.js'

/** A statement with its values. */
export interface Statement {
  readonly sql: string
  readonly values: string[]
  /** These make rows objects with plain columns, for any settings of the pool. */
  readonly rowsAsArray: false
  readonly nestTables: false
  readonly typeCast: true | ((field: unknown, next: () => unknown) => unknown)
}

/** As much of a connection of `mysql2/promise` as is used. */
export interface MysqlConnection {
  query(statement: Statement): Promise<[unknown, unknown]>
  execute(statement: Statement): Promise<[unknown, unknown]>
  /** `execute` without a promise, where the library itself is at hand. */
  tell?(statement: Statement, ended: Done<unknown>): void
  /** Calls `work` if the pool is ended before the returned function is called. */
  beforeEnd?(work: () => void): () => void
  /** The same for a statement without rows, which needs no settings for them. */
  change?(sql: string, values: string[], ended: Done<unknown>): void
  release(): void
  destroy(): void
}

/** As much of a pool of `mysql2/promise` as is used. */
export interface MysqlPool {
  /** Sends a statement as text. */
  query(statement: Statement): Promise<[unknown, unknown]>
  /** Sends a statement that the server prepares. */
  execute(statement: Statement): Promise<[unknown, unknown]>
  /** Borrows a connection. */
  getConnection(): Promise<MysqlConnection>
}

/** The part of a pool that the store calls. */
export interface Connections extends Pick<MysqlPool, 'getConnection'> {
  /** `getConnection` without a promise, where the library itself is at hand. */
  lend?(ended: Done<MysqlConnection>): void
}

/** A pool of `mysql2` itself, with callbacks. */
export interface MysqlCallbackPool {
  /** The same pool with promises. */
  promise(): MysqlPool
}

type Callback<T extends unknown[]> = (error: Error | null, ...results: T) => void

/** As much of a connection of `mysql2` itself as is used. */
interface CoreConnection {
  query(statement: Statement, ended: Callback<[rows: unknown, fields: unknown]>): void
  execute(statement: Statement, ended: Callback<[rows: unknown, fields: unknown]>): void
  execute(sql: string, values: string[], ended: Callback<[changes: unknown]>): void
  release(): void
  destroy(): void
  readonly stream?: { destroy(): void }
  /** What the end of the pool calls. */
  _realEnd?(...args: unknown[]): unknown
  /** What waits behind the statement that runs. */
  readonly _commands?: { toArray(): CoreCommand[] }
}
interface CoreCommand {
  readonly onResult?: () => void
}
interface CorePool {
  readonly config?: { readonly connectionConfig?: { readonly typeCast?: unknown } }
  getConnection(ended: Callback<[connection: CoreConnection]>): void
}

/**
 * Returns the connections of a pool.
 * @throws LockUsageError for anything but a pool of `mysql2`.
 */
export function poolOf(pool: unknown): Connections {
  // A single connection lacks only this method.
  if (typeof pool === 'object' && pool !== null && 'getConnection' in pool) {
    if ('promise' in pool && typeof pool.promise === 'function') {
      return new ThinPool(pool as unknown as CorePool)
    }
    if ('execute' in pool) {
      const core = (pool as { pool?: CorePool }).pool
      return core && 'promise' in core ? new ThinPool(core) : (pool as Connections)
    }
  }
  throw new LockUsageError(
    'mysqlStore needs a pool: createPool(…) of "mysql2/promise" or of "mysql2", not a connection.',
    { store: 'mysql' },
  )
}

/**
 * Promises over the callbacks of `mysql2`. The library's own promises record a stack for each call,
 * and wrap each connection again. That takes a tenth of a client's time for a lock.
 */
class ThinPool implements Connections {
  readonly pool: CorePool
  /** Whether the library certainly reads columns by itself, without a function of the pool. */
  readonly #readsPlainly: boolean

  constructor(pool: CorePool) {
    this.pool = pool
    const { connectionConfig } = pool.config ?? {}
    this.#readsPlainly = connectionConfig !== undefined && connectionConfig.typeCast === true
  }

  getConnection(): Promise<MysqlConnection> {
    return new Promise((resolve, reject) => {
      this.lend((error, connection) => (connection ? resolve(connection) : reject(error)))
    })
  }

  lend(ended: Done<MysqlConnection>): void {
    this.pool.getConnection((error, connection) => {
      if (error) ended(error)
      else ended(undefined, new ThinConnection(connection, this.#readsPlainly))
    })
  }
}

class ThinConnection implements MysqlConnection {
  /** The source of events, as on a connection of `mysql2/promise`. */
  readonly connection: CoreConnection
  readonly #readsPlainly: boolean

  constructor(connection: CoreConnection, readsPlainly: boolean) {
    this.connection = connection
    this.#readsPlainly = readsPlainly
  }

  query(of: Statement): Promise<[unknown, unknown]> {
    return new Promise((resolve, reject) => {
      this.connection.query(of, (error, ...results) => (error ? reject(error) : resolve(results)))
    })
  }

  execute(of: Statement): Promise<[unknown, unknown]> {
    return new Promise((resolve, reject) => {
      this.connection.execute(this.#asRead(of), (error, ...results) =>
        error ? reject(error) : resolve(results),
      )
    })
  }

  tell(of: Statement, ended: Done<unknown>): void {
    this.connection.execute(this.#asRead(of), (error, rows) =>
      error ? ended(error) : ended(undefined, rows),
    )
  }

  change(sql: string, values: string[], ended: Done<unknown>): void {
    this.connection.execute(sql, values, (error, changes) =>
      error ? ended(error) : ended(undefined, changes),
    )
  }

  /** For a function that may read columns the library wraps each one, which costs a good part. */
  #asRead(of: Statement): Statement {
    return this.#readsPlainly ? { ...of, typeCast: true } : of
  }

  /** The end of a pool waits for statements that were sent, and not for what has a connection. */
  beforeEnd(work: () => void): () => void {
    const { connection } = this
    // oxlint-disable-next-line no-underscore-dangle -- nothing else shows it
    const end = connection._realEnd?.bind(connection)
    if (end === undefined) return () => undefined
    const forget = (): void => void Reflect.deleteProperty(connection, '_realEnd')
    // oxlint-disable-next-line no-underscore-dangle -- as above
    connection._realEnd = (...args) => {
      forget()
      work()
      return end(...args)
    }
    return forget
  }

  release(): void {
    this.connection.release()
  }

  /**
   * The library only ends its side, and waits for the server's: a sleeping session notices after
   * five seconds, and a silent one never. The socket would keep the process alive as long.
   *
   * It also forgets the `end` of a pool that was closed before the locks, if that waits behind the
   * sleep: that promise would never settle.
   */
  destroy(): void {
    // oxlint-disable-next-line no-underscore-dangle -- the library shows this in no other way
    const ends = this.connection._commands?.toArray().filter(isEnd) ?? []
    this.connection.destroy()
    this.connection.stream?.destroy()
    for (const { onResult } of ends) onResult?.()
  }
}

function isEnd(command: CoreCommand): boolean {
  return command.constructor.name === 'Quit'
}

export function statement(sql: string, values: readonly string[] = []): Statement {
  return { sql, values: [...values], rowsAsArray: false, nestTables: false, typeCast: asRead }
}

/** A function, since for a mere `true` the library calls the pool's own function. */
function asRead(_field: unknown, next: () => unknown): unknown {
  return next()
}

/** What a statement without rows has changed, as the library gives it. */
export interface Changes {
  readonly affectedRows: number
  readonly insertId: number | string
  readonly serverStatus: number
}

/** Of a session in which any statement begins a transaction. */
export const WITHOUT_AUTOCOMMIT = new Error('the session does not commit by itself')
