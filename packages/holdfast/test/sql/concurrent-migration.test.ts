/** Clients with `autoMigrate` that begin on an empty database at the same moment. */
import { mysqlStore } from 'holdfast/mysql'
import { postgresStore } from 'holdfast/postgres'
import type { Store } from 'holdfast/store'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { startMysql } from '@holdfast/servers/mysql'
import { startPostgres } from '@holdfast/servers/postgres'
import { makeClaim } from '../../../../test/support/claims.js'

const [postgres, mysql] = await Promise.all([startPostgres(), startMysql()])

afterAll(() => Promise.all([postgres.remove(), mysql.remove()]))

interface Client {
  readonly store: Store
  end(): Promise<void>
}

const KITS = [
  {
    name: 'postgres',
    open: (round: number): Client => {
      const pool = new Pool({ connectionString: postgres.url, max: 4 })
      pool.on('error', () => undefined)
      const store = postgresStore({ pool, schema: `concurrent_${round}`, autoMigrate: true })
      return { store, end: () => pool.end() }
    },
  },
  {
    name: 'mysql',
    open: (round: number): Client => {
      const pool = createPool({ uri: mysql.url, connectionLimit: 4 })
      const store = mysqlStore({ pool, prefix: `concurrent_${round}_`, autoMigrate: true })
      return { store, end: () => pool.end() }
    },
  },
]

const CLIENTS = 8
const ROUNDS = 3
const CLAIMS = 20

/** Queues up behind the other clients and leaves, again and again: each table is written to. */
async function use({ store }: Client): Promise<void> {
  await Promise.all(
    Array.from({ length: CLAIMS }, async (_, index) => {
      const claim = makeClaim(`lock ${index % 4}`)
      await store.attempt(claim, { enqueue: true, tokens: 1 })
      await store.withdraw(claim)
    }),
  )
}

describe.each(KITS)('$name', ({ open }) => {
  test.each(Array.from({ length: ROUNDS }, (_, index) => [index + 1]))(
    'eight clients migrate and use an empty database, round %i',
    async (round) => {
      const clients = Array.from({ length: CLIENTS }, () => open(round))
      const used = await Promise.allSettled(
        clients.map(async (client) => {
          for (let times = 0; times < 5; times += 1) await use(client)
        }),
      )
      for (const { store } of clients) await store.close()
      await Promise.all(clients.map((client) => client.end()))
      expect(used.filter(({ status }) => status === 'rejected')).toEqual([])
    },
  )
})
