/** PostgreSQL. */
import { startPostgres } from '@holdfast/servers/postgres'
import { measureDatabase, type DatabaseSuite, type Server } from '../database-suite.js'
import { preparePostgres } from '../subjects/postgres-lockers.js'
import type { BenchSuite } from '../suite.js'

const POSTGRES: DatabaseSuite = {
  name: 'postgres',
  native: 'advisory',
  startCounting: () => start({ shared_preload_libraries: 'pg_stat_statements' }),
  start: () => start(),
  prepare: preparePostgres,
}

export const suite: BenchSuite = {
  measure: (rounds, progress) => measureDatabase(POSTGRES, rounds, progress),
}

async function start(settings: Readonly<Record<string, string>> = {}): Promise<Server> {
  const server = await startPostgres({ durable: true, settings })
  return { address: server.url, stop: () => server.remove() }
}
