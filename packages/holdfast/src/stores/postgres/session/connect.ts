/** A session of our own, and how `pg` gives one. */
import { endWhen } from '../../session/give-up.js'
import type { PgPool, Row } from '../clients.js'
import { farewell } from '../farewell.js'
import { CONNECT_LIMIT_MS } from '../own-connection.js'

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
  readonly options: { readonly password?: unknown }
}

/** Beside the pool, so that it takes nothing away from it. */
export async function connectPg(pool: PgPool, givenUp: AbortSignal): Promise<OwnSession> {
  givenUp.throwIfAborted()
  const { Client, options } = pool as unknown as WithClient
  // The pool hides the password from whoever prints its options, and so from a copy of them, too.
  const { password } = options
  const client = new Client({ connectionTimeoutMillis: CONNECT_LIMIT_MS, ...options, password })
  let ended = false
  const over = (): void => void (ended = true)
  client.on('error', over)
  client.on('end', over)
  const end = (): void => {
    ended = true
    // A farewell would wait for the answer to what is under way, for ever where nothing arrives any more.
    const { stream } = client.connection ?? {}
    void farewell(client.end(), () => stream?.destroy())
  }
  endWhen(givenUp, end)
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
    end,
  }
}
