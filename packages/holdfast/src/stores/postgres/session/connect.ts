/** Connections that nobody else uses, through either client library. */
import { StoreUnavailableError } from '../../../errors.js'
import type { PgPool, PostgresJs, Row } from '../clients.js'

/** A connection of our own. It never connects again by itself: what comes after its end is rejected. */
export interface OwnSession {
  readonly ended: boolean
  /** What is set ends with it then. */
  readonly inTransaction: boolean
  query(text: string, values: readonly string[]): Promise<readonly Row[]>
  end(): void
}

/** As much of a client of `pg` as is used. */
interface PgConnection {
  connect(): Promise<unknown>
  query(text: string, values: unknown[]): Promise<{ rows: unknown[] }>
  end(): Promise<void>
  unref(): void
  on(event: 'error' | 'end', listener: () => void): unknown
  readonly connection?: { readonly stream?: { destroy(): void } }
}

/** Not in the library's types, but what its pools make their own connections with. */
interface WithClient {
  readonly Client: new (options: object) => PgConnection
}

/** Beside the pool, so that it takes nothing away from it. */
export async function connectPg(pool: PgPool): Promise<OwnSession> {
  const { Client } = pool as unknown as WithClient
  const client = new Client(pool.options)
  let ended = false
  const over = (): void => void (ended = true)
  client.on('error', over)
  client.on('end', over)
  try {
    await client.connect()
  } catch (error) {
    void client.end().catch(() => undefined) // it never worked
    throw error
  }
  // A process may end while nothing is asked.
  client.unref()
  return {
    get ended() {
      return ended
    },
    inTransaction: false,
    query: async (text, values) => (await client.query(text, [...values])).rows as Row[],
    end() {
      ended = true
      // A farewell would wait for the answer to what is under way, for ever where nothing arrives any more.
      const { stream } = client.connection ?? {}
      client.end().then(
        () => undefined,
        () => undefined, // it is broken, or ended already
      )
      setTimeout(() => stream?.destroy(), FAREWELL_MS).unref()
    },
  }
}

const FAREWELL_MS = 200

/** What `begin` gives to its callback. */
interface PostgresJsScope {
  unsafe(text: string, values: never[], options: { prepare: boolean }): PromiseLike<readonly unknown[]>
}

interface PostgresJsBegin {
  begin(work: (scope: PostgresJsScope) => Promise<unknown>): Promise<unknown>
}

/**
 * One of the pool's, in a transaction that stays open: it has read nothing and written nothing, so it is in nobody's way.
 * The library has a `reserve` for this, but a statement on a reserved connection that has broken ends the process.
 */
export async function connectPostgresJs(sql: PostgresJs): Promise<OwnSession> {
  const { max } = sql.options as { readonly max?: number }
  if (max !== undefined && max < 2) throw tooSmall()
  let ended = false
  const over = (): void => void (ended = true)
  const farewell = new AbortController()
  const sayFarewell = farewell.abort.bind(farewell, undefined)
  const scope = await new Promise<PostgresJsScope>((resolve, reject) => {
    const lasting = (sql as unknown as PostgresJsBegin).begin(async (begun) => {
      const said = new Promise((bye) => farewell.signal.addEventListener('abort', bye))
      resolve(begun)
      await said
    })
    lasting.then(over, (error: unknown) => {
      over()
      reject(error)
    })
  })
  const ask = async (text: string, values: readonly string[]): Promise<readonly Row[]> =>
    (await scope.unsafe(text, [...values] as never[], { prepare: false })) as Row[]
  const [backend] = await ask('select pg_backend_pid()::text as pid', [])
  const pid = String(backend?.['pid'])
  /** A statement that failed has doomed the transaction, but not the locks: those would go back into the pool with it. */
  const terminate = (): void => {
    over()
    const killed = sql.unsafe('select pg_terminate_backend($1::text::integer)', [pid] as never[])
    Promise.resolve(killed).then(sayFarewell, sayFarewell)
  }
  return {
    get ended() {
      return ended
    },
    inTransaction: true,
    async query(text, values) {
      if (ended) throw new Error('the connection has ended')
      try {
        return await ask(text, values)
      } catch (error) {
        terminate()
        throw error
      }
    },
    end() {
      if (ended) return
      over()
      ask('select pg_advisory_unlock_all()', []).then(sayFarewell, terminate)
    },
  }
}

function tooSmall(): StoreUnavailableError {
  return new StoreUnavailableError(
    'Session mode keeps one connection of the pool for each TTL, and needs another one. Give it a max of 2 or more.',
    { code: 'STORE_CONFIG', store: 'postgres' },
  )
}
