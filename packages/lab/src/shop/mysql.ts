import { assertFence } from 'holdfast/fence'
import { migrateMysql as migrate } from 'holdfast/mysql'
import { createPool, type Pool, type PoolConnection, type ResultSetHeader } from 'mysql2/promise'
import { type ShopDatabase, type Shop } from './shop.js'

const CONNECTIONS = 10

export interface MysqlShop extends Shop {
  readonly kind: 'mysql'
  readonly pool: Pool
}

export function openMysql(url: string): MysqlShop {
  const pool = createPool({ uri: url, connectionLimit: CONNECTIONS })
  return {
    kind: 'mysql',
    pool,
    direct: shopDatabase(pool),
    async transaction(work) {
      const connection = await pool.getConnection()
      let broken = true
      try {
        await connection.query('start transaction')
        const tx = {
          ...shopDatabase(connection),
          fence: (lease: Parameters<typeof assertFence>[1]) =>
            assertFence(connection, lease, lease.name),
        }
        const result = await work(tx).catch(async (error: unknown) => {
          await connection.query('rollback')
          broken = false
          throw error
        })
        await connection.query('commit')
        broken = false
        return result
      } finally {
        if (broken) connection.destroy()
        else connection.release()
      }
    },
    close: () => pool.end(),
  }
}

/** What the fences and the lease rows of Holdfast need. */
export async function migrateMysql(shop: MysqlShop): Promise<void> {
  await migrate(shop.pool)
}

export function shopDatabase(client: Pool | PoolConnection): ShopDatabase {
  return {
    async query(sql, values = []) {
      const [rows] = await client.query(sql, [...values])
      return Array.isArray(rows) ? (rows as Record<string, unknown>[]) : []
    },
    async change(sql, values = []) {
      const [result] = await client.query(sql, [...values])
      return (result as ResultSetHeader).affectedRows
    },
  }
}
