/** The MySQL store as a subject, on a private MariaDB. */
import { join } from 'node:path'
import type { Subject } from '@holdfast/conformance'
import { mysqlSchema, mysqlStore } from 'holdfast/mysql'
import type { Store } from 'holdfast/store'
import { createPool } from 'mysql2/promise'
import type { MysqlServer } from '@holdfast/servers/mysql'
import { raceCount, serverKillRounds } from '../../support/plan.js'
import { closing } from './closing.js'
import { SHORT_TTL_MS, SLACK_MS } from '../runner.js'

/** Each client has a pool of its own, as another process would have, and closes it. */
function openMysql(uri: string): Store {
  const pool = createPool({ uri, connectionLimit: 4 })
  return closing(mysqlStore({ pool }), () => pool.end())
}

export function mysqlSubject(server: MysqlServer): Subject {
  server.sql(mysqlSchema())
  const { url } = server
  const traitsOf = openMysql(url)
  void traitsOf.close()
  return {
    name: 'MariaDB',
    traits: traitsOf.traits,
    // Connected, since cases with a short request timeout must not wait for the connection.
    async open() {
      const store = openMysql(url)
      await store.inspect({ lock: 'warm' })
      return store
    },
    shortTtlMs: SHORT_TTL_MS,
    slackMs: SLACK_MS,
    async restart() {
      await server.service.crash()
      await server.service.start()
    },
    worker: {
      command: process.execPath,
      args: [join(import.meta.dirname, '../workers/mysql.mjs'), url],
    },
    killRounds: serverKillRounds(),
    races: raceCount(),
  }
}
