/** A session of our own, and how `pg` gives one. */
import type { PgPool, Row } from '../clients.js'

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
