/** One PostgreSQL or one MariaDB, with its commits on the disk. */
import { startMysql } from '@holdfast/servers/mysql'
import { startPostgres } from '@holdfast/servers/postgres'
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
    actions: steps(clock),
    async stop() {
      await server.remove()
      clock?.remove()
    },
  }
}

export async function mysqlTarget(clocks: boolean): Promise<Target> {
  const clock = clocks ? new ServerClock() : undefined
  const server = await startMysql({ durable: true, ...(clock ? { env: clock.env } : {}) })
  const pool = createPool({ uri: server.url, connectionLimit: 1 })
  await migrateMysql(pool)
  await pool.end()
  return {
    nodes: [nodeOf('mariadb', server.port, server.service)],
    connection: (ports) => ({ ports }),
    actions: steps(clock),
    async stop() {
      await server.remove()
      clock?.remove()
    },
  }
}
