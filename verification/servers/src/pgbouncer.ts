/** A private PgBouncer in front of a PostgreSQL. It refuses to run as root. */
import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { userFor } from './postgres.js'
import { makeFolder, removeFolder } from './folders.js'
import { freePorts, listens } from './ports.js'
import { Service } from './service.js'

export interface Pgbouncer {
  /** Of the superuser, in the database `postgres`. */
  readonly url: string
  /** Ends it and removes its files. */
  remove(): Promise<void>
}

/**
 * @param port of the server behind it
 * @param poolSize how many connections of the server there are to share
 */
export async function startPgbouncer(
  port: number,
  mode: 'session' | 'transaction',
  poolSize = 20,
): Promise<Pgbouncer> {
  const folder = makeFolder('pgbouncer')
  const user = userFor('postgres')
  const [own = 0] = await freePorts(1)
  const users = join(folder, 'users')
  const settings = join(folder, 'pgbouncer.ini')
  writeFileSync(users, '"postgres" ""\n')
  writeFileSync(
    settings,
    `[databases]
* = host=127.0.0.1 port=${port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = ${mode}
default_pool_size = ${poolSize}
ignore_startup_parameters = extra_float_digits
`,
  )
  if (user) for (const file of [folder, users, settings]) chownSync(file, user.uid, user.gid)
  const service = new Service({
    name: 'PgBouncer',
    command: '/usr/sbin/pgbouncer',
    args: [settings],
    ...user,
    ready: () => listens(own),
  })
  await service.start()
  return {
    url: `postgres://postgres@127.0.0.1:${own}/postgres`,
    async remove() {
      await service.stop()
      removeFolder(folder)
    },
  }
}
