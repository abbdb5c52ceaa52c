/**
 * The pool that the caller passes in: one of `pg`, or an instance of `postgres`. Nothing is
 * imported from either library: these types describe what the store uses of them.
 */

/** A row of an answer. */
export type Row = Readonly<Record<string, unknown>>

/** A statement with values, which is prepared once for each connection when it has a name. */
export interface LibraryStatement {
  readonly name: string | undefined
  readonly text: string
  readonly values: (string | null)[]
}

export interface PgStatement extends LibraryStatement {
  /** Makes the same statement, which the server refuses inside of a transaction. Seldom used. */
  readonly checked?: () => CheckedStatement
}

/** Costs a tenth more than the statement that needs no check. */
export interface CheckedStatement extends LibraryStatement {
  /** Makes the statement, if it was not sent yet, one that does nothing. */
  readonly empty: () => void
}

/** As much of a pool of `pg` as is used. */
export interface PgPool {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
  connect(): Promise<unknown>
  connect(lent: (error: Error | undefined, client: unknown) => void): void
  listenerCount?(event: 'error'): number
  readonly options: object
  readonly totalCount: number
  readonly idleCount: number
}

/** As much of a `postgres` (postgres.js) instance as is used. */
export interface PostgresJs {
  unsafe(
    text: string,
    values?: never[],
    options?: { prepare?: boolean },
  ): PromiseLike<readonly unknown[]>
  listen(
    channel: string,
    onNotify: (payload: string) => void,
    onListen?: () => void,
  ): Promise<{ unlisten(): Promise<void> }>
  readonly options: object
}

export function isPostgresJs(pool: unknown): pool is PostgresJs {
  return typeof pool === 'function' && 'unsafe' in pool && 'listen' in pool
}

/**
 * A client of `pg` alone has `query` too, but no pool's `totalCount`: it runs one statement after
 * the other.
 */
export function isPgPool(pool: unknown): pool is PgPool {
  return (
    typeof pool === 'object' &&
    pool !== null &&
    'query' in pool &&
    'options' in pool &&
    'totalCount' in pool
  )
}
