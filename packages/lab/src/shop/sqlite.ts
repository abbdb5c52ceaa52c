/** The shop in a SQLite file, for machines with no database server. */
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { StaleTokenError } from 'holdfast'
import { ITEM, type ShopDatabase, type Shop, type Transaction, type Value } from './shop.js'

interface Database {
  exec(sql: string): void
  prepare(sql: string): {
    all(...values: Value[]): unknown[]
    run(...values: Value[]): { changes: number | bigint }
  }
  close(): void
}

type Open = (path: string) => Database

/**
 * Statements that find the file busy come back after so long. Nothing waits inside SQLite: that
 * would stop the process.
 */
const AGAIN_MS = 2

export function openSqlite(path: string): Shop {
  const open = findSqlite()
  const spare: Database[] = []
  const borrow = (): Database => {
    const known = spare.pop()
    if (known) return known
    const made = open(path)
    made.exec('pragma journal_mode = wal; pragma synchronous = off; pragma busy_timeout = 0')
    return made
  }

  async function using<T>(work: (database: Database) => Promise<T>): Promise<T> {
    const database = borrow()
    try {
      return await work(database)
    } finally {
      spare.push(database)
    }
  }

  return {
    kind: 'sqlite',
    direct: {
      query: (sql, values) => using((database) => shopDatabase(database).query(sql, values)),
      change: (sql, values) => using((database) => shopDatabase(database).change(sql, values)),
    },
    transaction: (work) =>
      using(async (database) => {
        const direct = shopDatabase(database)
        await direct.change('begin immediate')
        try {
          const result = await work({ ...direct, fence: fenceOf(direct) })
          await direct.change('commit')
          return result
        } catch (error) {
          database.exec('rollback')
          throw error
        }
      }),
    async close() {
      for (const database of spare) database.close()
    },
  }
}

/** The same rule as `holdfast/fence` has for PostgreSQL and MariaDB: a smaller token is refused. */
function fenceOf(direct: ShopDatabase): Transaction['fence'] {
  return async (lease) => {
    const token = String(lease.token)
    const noted = await direct.change(
      'update stock set token = cast(? as integer) where item = ? and token <= cast(? as integer)',
      [token, ITEM, token],
    )
    if (noted === 0)
      throw new StaleTokenError(`The shop has seen a token that is larger than ${token}.`)
  }
}

function shopDatabase(database: Database): ShopDatabase {
  return {
    query: (sql, values = []) =>
      whenFree(() => database.prepare(sql).all(...values) as Record<string, unknown>[]),
    change: (sql, values = []) =>
      whenFree(() => Number(database.prepare(sql).run(...values).changes)),
  }
}

async function whenFree<T>(run: () => T): Promise<T> {
  for (;;) {
    try {
      return run()
    } catch (error) {
      if (!/locked|busy/i.test(String(error))) throw error
      await sleep(AGAIN_MS)
    }
  }
}

/** Node's own SQLite, or on Node 20 the package that the command line brings along. */
function findSqlite(): Open {
  const emit = process.emitWarning.bind(process)
  // Node says in every process that its SQLite is experimental.
  process.emitWarning = () => {}
  try {
    const builtIn = process.getBuiltinModule('node:sqlite') as
      { DatabaseSync: new (path: string) => Database } | undefined
    const { DatabaseSync } =
      builtIn ??
      (createRequire(import.meta.url)('@photostructure/sqlite') as NonNullable<typeof builtIn>)
    return (path) => new DatabaseSync(path)
  } finally {
    process.emitWarning = emit
  }
}
