/** One PostgreSQL or one MariaDB, with its commits on the disk. */
import { startMysql, type MysqlServer } from '@holdfast/servers/mysql'
import { startPostgres, type PostgresServer } from '@holdfast/servers/postgres'
import { setTimeout as sleep } from 'node:timers/promises'
import { migrateMysql } from 'holdfast/mysql'
import { postgresSchema } from 'holdfast/postgres'
import { createPool } from 'mysql2/promise'
import { ServerClock } from './clock.js'
import { nodeOf, type Action, type Target } from './target.js'

/** Sets the clock of the one server. */
function steps(
  clock: ServerClock | undefined,
): Partial<Record<'clock-forward' | 'clock-back', Action>> {
  if (!clock) return {}
  const step: Action = ({ byMs }) => {
    clock.step(byMs)
    return () => undefined
  }
  return { 'clock-forward': step, 'clock-back': step }
}

/** How long clients may take to connect again. */
const RECONNECT_MS = 200

/**
 * One server plays both: sessions that exist are read-only, and those that are opened after the
 * move are not. It begins with new sessions only, since those of an earlier move would take writes.
 */
function postgresMoves(server: PostgresServer): Action {
  const alterRole = (what: string): Promise<unknown> =>
    server.ask(`set transaction read write; alter role postgres ${what}`)
  const setAll = async (value: 'on' | 'off'): Promise<void> => {
    await server.ask(`alter system set default_transaction_read_only = ${value}`)
    await server.ask('select pg_reload_conf()')
  }
  return async () => {
    await setAll('off')
    await alterRole('reset default_transaction_read_only')
    await server.ask(
      "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
    )
    await sleep(RECONNECT_MS)
    await setAll('on')
    return async () => void (await alterRole('set default_transaction_read_only = off'))
  }
}

/** The same: a right of this kind applies to sessions that are opened later. */
function mysqlMoves(server: MysqlServer): Action {
  const right = `${server.product === 'MySQL' ? 'connection_admin' : 'read_only admin'} on *.*`
  const endSessions = server.product === 'MySQL' ? 'select 1' : 'kill user app'
  return async () => {
    await server.ask(`revoke ${right} from app@'%'; set global read_only = 0; ${endSessions}`)
    await sleep(RECONNECT_MS)
    await server.ask('set global read_only = 1')
    return async () => void (await server.ask(`grant ${right} to app@'%'`))
  }
}

export async function postgresTarget(clocks: boolean): Promise<Target> {
  const clock = clocks ? new ServerClock() : undefined
  const server = await startPostgres({ durable: true, ...(clock ? { env: clock.env } : {}) })
  server.psql(postgresSchema())
  return {
    nodes: [
      {
        ...nodeOf('postgres', server.port, server.service),
        // Each connection has a process, which would go on.
        signal: (signal) => server.service.killFamily(signal),
      },
    ],
    connection: (ports) => ({ ports }),
    actions: { ...steps(clock), 'endpoint-moves': postgresMoves(server) },
    // Before the first write of a store this is a wrong setting.
    tolerated: { 'endpoint-moves': ['STORE_CONFIG'] },
    async stop() {
      await server.remove()
      clock?.remove()
    },
  }
}

export async function mysqlTarget(clocks: boolean): Promise<Target> {
  const clock = clocks ? new ServerClock() : undefined
  const server = await startMysql({ durable: true, ...(clock ? { env: clock.env } : {}) })
  // A user without the rights of root, which a read-only server binds.
  server.sql("create user app@'%'; grant all privileges on app.* to app@'%'")
  const pool = createPool({ uri: server.url, connectionLimit: 1 })
  await migrateMysql(pool)
  await pool.end()
  return {
    nodes: [nodeOf('mariadb', server.port, server.service)],
    connection: (ports) => ({ ports }),
    actions: { ...steps(clock), 'endpoint-moves': mysqlMoves(server) },
    // Before the first write of a store this is a wrong setting.
    tolerated: { 'endpoint-moves': ['STORE_CONFIG'] },
    async stop() {
      await server.remove()
      clock?.remove()
    },
  }
}
