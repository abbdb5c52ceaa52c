/**
 * The two client libraries as one: `pg` and `postgres`. Nothing is imported from either; what is used of them is written
 * down here, and the pool that the caller passes in is never closed.
 */
import { LockUsageError } from '../../errors.js'

/** A row of an answer. */
export type Row = Readonly<Record<string, unknown>>

/** As much of a pool of `pg` as is used. */
export interface PgPool {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
  connect(): Promise<unknown>
  readonly options: object
}

/** As much of a `postgres` (postgres.js) instance as is used. */
export interface PostgresJs {
  unsafe(text: string, values?: never[], options?: { prepare?: boolean }): PromiseLike<readonly unknown[]>
  listen(
    channel: string,
    onNotify: (payload: string) => void,
    onListen?: () => void,
  ): Promise<{ unlisten(): Promise<void> }>
  readonly options: object
}

/** What either library does for the store. */
export interface Client {
  /** A statement with values, outside any transaction. Not prepared by name, which poolers between may not know. */
  query(text: string, values: readonly string[]): Promise<readonly Row[]>
  /** Several statements in one transaction. */
  script(text: string): Promise<void>
  /** Listens on a connection that is not the pool's. */
  listen(channel: string, events: ListenEvents): Promise<Listening>
}

export interface ListenEvents {
  onNotify(payload: string): void
  /** The connection was lost. `again` says whether the library has connected anew by itself. */
  onLost(again: boolean): void
}

export interface Listening {
  close(): Promise<void>
}

/** @throws LockUsageError for anything else than the two libraries' pools. */
export function clientOf(pool: unknown): Client {
  if (isPostgresJs(pool)) return postgresJsClient(pool)
  if (isPgPool(pool)) return pgClient(pool)
  throw new LockUsageError(
    'postgresStore needs a pool: new pg.Pool(…) of the package "pg", or postgres(…) of the package "postgres".',
    { store: 'postgres' },
  )
}

function isPostgresJs(pool: unknown): pool is PostgresJs {
  return typeof pool === 'function' && 'unsafe' in pool && 'listen' in pool
}

/** A single client of `pg` has `query` too, but no pool's `totalCount`: it runs one statement after the other. */
function isPgPool(pool: unknown): pool is PgPool {
  return (
    typeof pool === 'object' && pool !== null && 'query' in pool && 'options' in pool && 'totalCount' in pool
  )
}

function postgresJsClient(sql: PostgresJs): Client {
  return {
    // The library's type of a parameter does not admit plain strings where it cannot see the query.
    query: async (text, values) =>
      (await sql.unsafe(text, [...values] as never[], { prepare: false })) as Row[],
    script: async (text) => void (await sql.unsafe(text)),
    async listen(channel, events) {
      let listens = 0
      const { unlisten } = await sql.listen(channel, events.onNotify, () => {
        listens += 1
        if (listens > 1) events.onLost(true)
      })
      return { close: () => unlisten() }
    },
  }
}

interface PgClient {
  connect(): Promise<unknown>
  query(text: string): Promise<unknown>
  end(): Promise<void>
  unref(): void
  on(event: 'notification', listener: (message: { payload?: string }) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
}

/** Not in the library's types, but what its pools make their own connections with. */
interface WithClient {
  readonly Client: new (options: object) => PgClient
}

/** How often to look whether the connection that listens is alive: nobody else would notice a silent end. */
const LOOK_EVERY_MS = 5000
const LOOK_LIMIT_MS = 3000

function pgClient(pool: PgPool): Client {
  return {
    query: async (text, values) => (await pool.query(text, [...values])).rows as Row[],
    script: async (text) => void (await pool.query(text)),
    async listen(channel, events) {
      const { Client } = pool as unknown as WithClient
      const client = new Client(pool.options)
      let over = false
      const lost = (): void => {
        if (over) return
        over = true
        clearInterval(looking)
        void client.end().catch(() => undefined) // it is broken already
        events.onLost(false)
      }
      client.on('error', lost)
      client.on('end', lost)
      client.on('notification', ({ payload }) => events.onNotify(payload ?? ''))
      const looking = setInterval(() => void look(client).catch(lost), LOOK_EVERY_MS)
      looking.unref()
      try {
        await client.connect()
        await client.query(`listen "${channel}"`)
      } catch (error) {
        over = true
        clearInterval(looking)
        void client.end().catch(() => undefined) // it never worked
        throw error
      }
      client.unref()
      return {
        async close() {
          over = true
          clearInterval(looking)
          await client.end()
        },
      }
    },
  }
}

async function look(client: PgClient): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('the connection that listens does not answer')), LOOK_LIMIT_MS)
  })
  try {
    await Promise.race([client.query('select 1'), limit])
  } finally {
    clearTimeout(timer)
  }
}
