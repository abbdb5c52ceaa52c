import { assertFence } from 'holdfast/fence'
import { postgresSchema } from 'holdfast/postgres'
import { Pool } from 'pg'
import { type ShopDatabase, type Shop, type Value } from './shop.js'

/** Enough for every buyer who is at it at the same time in one process, and for the locks. */
const CONNECTIONS = 10

export interface PostgresShop extends Shop {
  readonly kind: 'postgres'
  readonly pool: Pool
}

export function openPostgres(url: string): PostgresShop {
  const pool = new Pool({ connectionString: url, max: CONNECTIONS })
  // A connection that breaks while it is idle. In use, the failing statement reports it.
  pool.on('error', () => {})
  pool.on('connect', (client) => void client.on('error', () => {}))
  return {
    kind: 'postgres',
    pool,
    direct: shopDatabase(pool),
    async transaction(work) {
      const client = await pool.connect()
      let broken = true
      try {
        await client.query('begin')
        const tx = {
          ...shopDatabase(client),
          fence: (lease: Parameters<typeof assertFence>[1]) =>
            assertFence(client, lease, lease.name),
        }
        const result = await work(tx).catch(async (error: unknown) => {
          await client.query('rollback')
          broken = false
          throw error
        })
        await client.query('commit')
        broken = false
        return result
      } finally {
        client.release(broken)
      }
    },
    close: () => pool.end(),
  }
}

/** What the fences and the lease rows of Holdfast need. */
export async function migratePostgres(shop: PostgresShop): Promise<void> {
  await shop.pool.query(postgresSchema())
}

interface Queryable {
  query(
    text: string,
    values: Value[],
  ): Promise<{ rows: Record<string, unknown>[]; rowCount: number | null }>
}

export function shopDatabase(client: Queryable): ShopDatabase {
  const run = (sql: string, values: readonly Value[] = []): ReturnType<Queryable['query']> => {
    let count = 0
    return client.query(
      sql.replaceAll('?', () => `$${(count += 1)}`),
      [...values],
    )
  }
  return {
    query: async (sql, values) => (await run(sql, values)).rows,
    change: async (sql, values) => (await run(sql, values)).rowCount ?? 0,
  }
}
