/**
 * A private MariaDB: its own data folder, port and socket; `root` comes in without a password. The server refuses to run
 * as root of the machine, so that it runs as the user of Debian's package then.
 */
import { execFileSync } from 'node:child_process'
import { chownSync } from 'node:fs'
import { join } from 'node:path'
import { userFor } from './postgres.js'
import { freePorts, listens, makeFolder, removeFolder, Service } from './service.js'

/** The database that tests use. */
const DATABASE = 'app'

export interface MariadbServer {
  readonly service: Service
  readonly port: number
  /** Of `root`, in the database `app`. */
  readonly url: string
  /** Runs SQL as `root` and returns what the client prints. */
  sql(text: string): string
  /** Ends the server and removes its files. */
  remove(): Promise<void>
}

/** Starts a server. Without `durable` it does not wait for the disk. `flags` are as on the command line of the server. */
export async function startMariadb(
  options: {
    readonly durable?: boolean
    readonly flags?: readonly string[]
    readonly env?: NodeJS.ProcessEnv
  } = {},
): Promise<MariadbServer> {
  const folder = makeFolder('mariadb')
  const user = userFor('mysql')
  if (user) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  // A server that starts takes away the temporary tables that it finds, which may be those of another one.
  const tmpdir = `--tmpdir=${folder}`
  const install = [
    '--no-defaults',
    `--datadir=${data}`,
    tmpdir,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
  ]
  execFileSync('mariadb-install-db', install, { ...user, cwd: folder, stdio: 'pipe' })
  const [port = 0] = await freePorts(1)
  const socket = join(folder, 's.sock')
  const sql = (text: string, database = DATABASE): string =>
    execFileSync('mariadb', ['--no-defaults', '-S', socket, '-u', 'root', '-N', '-B', database], {
      input: text,
      encoding: 'utf8',
      stdio: 'pipe',
    }).trim()
  const service = new Service({
    name: 'MariaDB',
    command: 'mariadbd',
    args: [
      '--no-defaults',
      `--datadir=${data}`,
      tmpdir,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      `--socket=${socket}`,
      `--pid-file=${join(folder, 'pid')}`,
      ...(options.durable === true ? [] : ['--innodb-flush-log-at-trx-commit=0']),
      ...(options.flags ?? []),
    ],
    ...(options.env === undefined ? {} : { env: options.env }),
    ...user,
    ready: async () => (await listens(port)) && sql('select 1', 'mysql') === '1',
  })
  await service.start()
  sql(`create database ${DATABASE}`, 'mysql')
  return {
    service,
    port,
    url: `mysql://root@127.0.0.1:${port}/${DATABASE}`,
    sql,
    async remove() {
      await service.stop()
      removeFolder(folder)
    },
  }
}
