/** Locks and outcomes in one Redis or PostgreSQL: `redis://…` or `postgres://…`. */
import { migratePostgres, postgresStore } from 'holdfast/postgres'
import { redisStore } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { postgresOutcomes, redisOutcomes } from './outcomes.mjs'

export async function openServices(url) {
  if (url.startsWith('redis:')) {
    const client = new Redis(url)
    const end = () => client.disconnect()
    return { store: redisStore({ client }), outcomes: redisOutcomes(client), end }
  }
  const pool = new Pool({ connectionString: url })
  await migratePostgres(pool)
  return {
    store: postgresStore({ pool }),
    outcomes: await postgresOutcomes(pool),
    end: () => pool.end(),
  }
}
