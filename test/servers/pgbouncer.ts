/** A private PgBouncer in front of a PostgreSQL. It refuses to run as root, too. */
import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { userFor, type PostgresServer } from './postgres.js'
import { freePorts, listens, makeFolder, removeFolder, Service } from './service.js'

export interface PgbouncerServer {
  /** Of the superuser, in the database `postgres`. */
  readonly url: string
  /** Ends it and removes its files. */
  remove(): Promise<void>
}

/** In transaction mode a session of the server is lent for one transaction, in session mode for as long as a client is there. */
export async function startPgbouncer(
  server: PostgresServer,
  mode: 'session' | 'transaction',
): Promise<PgbouncerServer> {
  const folder = makeFolder('pgbouncer')
  const user = userFor('postgres')
  const [port = 0] = await freePorts(1)
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'trust',
    auth_file: join(folder, 'users'),
    pool_mode: mode,
  }
  writeFileSync(settings.auth_file, '"postgres" ""\n')
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]\n* = host=127.0.0.1 port=${server.port}\n[pgbouncer]\n${lines.join('\n')}\n`,
  )
  if (user) for (const path of [folder, file, settings.auth_file]) chownSync(path, user.uid, user.gid)
  const service = new Service({
    name: 'PgBouncer',
    command: 'pgbouncer',
    args: [file],
    ...user,
    ready: () => listens(port),
  })
  await service.start()
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async remove() {
      service.kill('SIGINT')
      await service.stop()
      removeFolder(folder)
    },
  }
}
