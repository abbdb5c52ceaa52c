/** One MariaDB, or the newest MySQL. */
import { NEWEST_MARIADB, NEWEST_MYSQL, startMysql, type MysqlServer } from '@holdfast/servers/mysql'
import { setTimeout as sleep } from 'node:timers/promises'
import { USUAL, type StoreDescriptor } from '../descriptor.js'
import { needsClock, ServerClock } from '../faults/clock.js'
import { everywhere } from '../faults/promises.js'
import { nodeOf, type Action, type Target } from '../faults/target.js'
import { hostsOf } from '../connection.js'
import { connected, ofMembers } from '../service.js'
import { leaveTransactions } from '../sql/careless.js'
import { SQL } from '../sql/promises.js'
import { clockSteps, RECONNECT_MS } from '../sql/step-clock.js'

export const store: StoreDescriptor = {
  name: 'mysql',
  title: 'MySQL (MariaDB)',
  order: 80,
  service: {
    libraries: { daily: ['mysql2'] },
    needs: [['mariadbd', 'mariadb-server']],
    newest: [NEWEST_MYSQL, NEWEST_MARIADB],
    async start({ empty = false, crowded = false } = {}) {
      const flags = crowded ? ['--max-connections=300'] : []
      const server = await startMysql({ durable: true, flags })
      const { mysqlSchema } = await import('holdfast/mysql')
      if (!empty) server.sql(mysqlSchema())
      return {
        ...ofMembers([server.url], [server.service], () => server.remove()),
        version: async () => server.sql('select version()'),
        async cut() {
          const ids = await server.ask(
            `select id from information_schema.processlist where db = 'app' and id <> connection_id()`,
          )
          // Some may have ended by themselves.
          await Promise.allSettled(ids.split('\n').map((id) => server.ask(`kill ${id}`)))
        },
      }
    },
    async open([uri = ''], { load, migrate = false }) {
      const { mysqlStore } = await load<typeof import('holdfast/mysql')>('mysql')
      const { createPool } = await import('mysql2/promise')
      const pool = createPool({ uri, connectionLimit: 4 })
      // The end of a pool rejects with the error of a connection that was just being opened.
      const end = (): Promise<void> => pool.end().catch(ignoreRefusal)
      return connected(mysqlStore({ pool, autoMigrate: migrate }), end)
    },
    endsAfterWaits: true,
  },
  suite: {},
  besidePreviousMs: 1500,
  samples: ([url = '']) => ({ env: { DATABASE_URL: url } }),
  torture: {
    ...USUAL,
    ttlMs: 2000,
    boundMs: 9000,
    promises: everywhere(SQL),
    start: ({ kinds }) => mysqlTarget(needsClock(kinds)),
    async open(connection, _index, load) {
      const { mysqlStore } = await load<typeof import('holdfast/mysql')>('mysql')
      const { createPool } = await import('mysql2/promise')
      const uri = `mysql://app@${hostsOf(connection)}/app`
      const pool = createPool({ uri, connectionLimit: 6 })
      const end = leaveTransactions(() => pool.getConnection())
      return {
        store: mysqlStore({ pool }),
        end() {
          end()
          return pool.end()
        },
      }
    },
    url: (connection) => `mysql://root@${hostsOf(connection)}/app`,
  },
}

/** With its commits on the disk. */
async function mysqlTarget(clocks: boolean): Promise<Target> {
  const clock = clocks ? new ServerClock() : undefined
  const server = await startMysql({ durable: true, ...(clock ? { env: clock.env } : {}) })
  // A user without the rights of root, which a read-only server binds.
  server.sql("create user app@'%'; grant all privileges on app.* to app@'%'")
  await migrate(server.url)
  return {
    nodes: [nodeOf('mariadb', server.port, server.service)],
    connection: (ports) => ({ ports }),
    actions: { ...clockSteps(clock), 'endpoint-moves': movesOf(server) },
    // Before the first write of a store this is a wrong setting.
    tolerated: { 'endpoint-moves': ['STORE_CONFIG'] },
    async stop() {
      await server.remove()
      clock?.remove()
    },
  }
}

async function migrate(uri: string): Promise<void> {
  const { createPool } = await import('mysql2/promise')
  const { migrateMysql } = await import('holdfast/mysql')
  const pool = createPool({ uri, connectionLimit: 1 })
  await migrateMysql(pool)
  await pool.end()
}

/**
 * One server plays both: a right of this kind applies to sessions that are opened later. So those
 * that exist are read-only, and those that are opened after the move are not.
 */
function movesOf(server: MysqlServer): Action {
  const right = `${server.product === 'MySQL' ? 'connection_admin' : 'read_only admin'} on *.*`
  const endSessions = server.product === 'MySQL' ? 'select 1' : 'kill user app'
  return async () => {
    await server.ask(`revoke ${right} from app@'%'; set global read_only = 0; ${endSessions}`)
    await sleep(RECONNECT_MS)
    await server.ask('set global read_only = 1')
    return async () => void (await server.ask(`grant ${right} to app@'%'`))
  }
}

function ignoreRefusal(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ECONNREFUSED') throw error
}
