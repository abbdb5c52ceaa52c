/**
 * Opens the shop that an address names. The client library of a database is loaded only when it is
 * needed.
 */
import type { Shop } from './shop.js'

export async function openShop(address: string): Promise<Shop> {
  if (address.startsWith('postgres:')) return (await import('./postgres.js')).openPostgres(address)
  if (address.startsWith('mysql:')) return (await import('./mysql.js')).openMysql(address)
  return (await import('./sqlite.js')).openSqlite(address.replace(/^sqlite:/, ''))
}

/** Makes what locks and fences of Holdfast need in the shop's database. */
export async function migrateShop(shop: Shop): Promise<void> {
  if (shop.kind === 'postgres') {
    const { migratePostgres } = await import('./postgres.js')
    await migratePostgres(shop as Parameters<typeof migratePostgres>[0])
  } else if (shop.kind === 'mysql') {
    const { migrateMysql } = await import('./mysql.js')
    await migrateMysql(shop as Parameters<typeof migrateMysql>[0])
  }
}
