/** Opens a store over a pool of one of the libraries, in a test or in a program that it starts. */
import { mysqlStore } from 'holdfast/mysql'
import { postgresStore } from 'holdfast/postgres'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import postgres from 'postgres'

/**
 * @param {'pg' | 'postgres' | 'mysql2'} library
 * @param {string} url
 */
export function openStore(library, url) {
  const open = {
    pg: () => new Pool({ connectionString: url }),
    postgres: () => postgres(url, { fetch_types: false }),
    mysql2: () => createPool({ uri: url, connectionLimit: 4 }),
  }
  const pool = open[library]()
  return { pool, store: (library === 'mysql2' ? mysqlStore : postgresStore)({ pool }) }
}
