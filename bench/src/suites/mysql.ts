/** MariaDB. */
import { startMysql } from '@holdfast/servers/mysql'
import { measureDatabase, type DatabaseSuite, type Server } from '../database-suite.js'
import { prepareMysql } from '../subjects/mysql-lockers.js'
import type { BenchSuite } from '../suite.js'

const MYSQL: DatabaseSuite = {
  name: 'mysql',
  native: 'get_lock',
  startCounting: start,
  start,
  prepare: prepareMysql,
}

export const suite: BenchSuite = {
  measure: (rounds, progress) => measureDatabase(MYSQL, rounds, progress),
}

async function start(): Promise<Server> {
  const server = await startMysql({ durable: true, flags: ['--max-connections=300'] })
  return { address: server.url, stop: () => server.remove() }
}
