/**
 * A private MariaDB or MySQL: its own data folder, port and socket; `root` needs no password. It is
 * the system's MariaDB, or what `HOLDFAST_NEWEST` names. The server refuses to run as root of the
 * machine, so that it runs as the user of Debian's package then.
 */
import { execFile, execFileSync } from 'node:child_process'
import { chownSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { newestPath, usesNewest, type NewestServer } from './newest.js'
import { userFor } from './postgres.js'
import { makeFolder, removeFolder } from './folders.js'
import { freePorts, listens } from './ports.js'
import { Service } from './service.js'
import { makeOrCopy } from './templates.js'

export const NEWEST_MYSQL: NewestServer = {
  name: 'mysql',
  packages: ['mysql-server-core', 'mysql-client-core'],
  versionOf: /^mysql-server-core/,
}

export const NEWEST_MARIADB: NewestServer = {
  name: 'mariadb',
  packages: ['mariadb-server-core', 'mariadb-client-core'],
  versionOf: /^mariadb-server-core_/,
}

/** The database that tests use. */
const DATABASE = 'app'

export interface MysqlServer {
  readonly product: 'MariaDB' | 'MySQL'
  readonly service: Service
  readonly port: number
  /** Of `root`, in the database `app`. */
  readonly url: string
  /**
   * Runs SQL as `root` and returns what the client prints. This process does nothing meanwhile,
   * which renewals and timers notice.
   */
  sql(text: string): string
  /** Does the same while this process continues. */
  ask(text: string): Promise<string>
  /** Ends the server and removes its files. */
  remove(): Promise<void>
}

/** The programs of one product, and the options that only it needs. */
interface Product {
  readonly name: MysqlServer['product']
  readonly server: string
  readonly client: string
  /** Of the server, whenever it runs. */
  readonly flags: readonly string[]
  /** Of the server that need not wait for the disk. */
  readonly notDurable: readonly string[]
  /** Makes the data folder. */
  readonly install: readonly [command: string, ...args: string[]]
}

interface MysqlOptions {
  readonly durable?: boolean
  readonly flags?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
}

/**
 * Starts a server. Without `durable` it does not wait for the disk. `flags` are as on the command
 * line of the server.
 */
export async function startMysql(options: MysqlOptions = {}): Promise<MysqlServer> {
  const product = usesNewest(NEWEST_MYSQL) ? newestMysql() : mariadb()
  const folder = makeFolder('mysql')
  const user = userFor('mysql')
  if (user) chownSync(folder, user.uid, user.gid)
  makeDataFolder(product, folder, user)
  const [port = 0] = await freePorts(1)
  const sql = (text: string, database = DATABASE): string =>
    runClient(product.client, socketIn(folder), database, text)
  const service = new Service({
    name: product.name,
    command: product.server,
    args: serverArgs(product, folder, port, options),
    ...(options.env === undefined ? {} : { env: options.env }),
    ...user,
    ready: async () => (await listens(port)) && sql('select 1', 'mysql') === '1',
  })
  await service.start()
  sql(`create database ${DATABASE}`, 'mysql')
  return {
    product: product.name,
    service,
    port,
    url: `mysql://root@127.0.0.1:${port}/${DATABASE}`,
    sql,
    async ask(text) {
      const args = [...clientArgs(socketIn(folder), DATABASE), '-e', text]
      const { stdout } = await promisify(execFile)(product.client, args)
      return stdout.trim()
    },
    async remove() {
      await service.stop()
      removeFolder(folder)
    },
  }
}

function makeDataFolder({ install }: Product, folder: string, user: object | undefined): void {
  const [installer, ...installing] = install
  makeOrCopy(installer, join(folder, 'data'), () => {
    execFileSync(installer, ['--no-defaults', ...installing, ...places(folder)], {
      ...user,
      cwd: folder,
      stdio: 'pipe',
    })
  })
}

/**
 * A starting server removes the temporary tables that it finds, which may be those of another one.
 */
function places(folder: string): string[] {
  return [`--datadir=${join(folder, 'data')}`, `--tmpdir=${folder}`]
}

function socketIn(folder: string): string {
  return join(folder, 's.sock')
}

function serverArgs(
  product: Product,
  folder: string,
  port: number,
  options: MysqlOptions,
): string[] {
  return [
    '--no-defaults',
    ...product.flags,
    ...places(folder),
    `--port=${port}`,
    '--bind-address=127.0.0.1',
    `--socket=${socketIn(folder)}`,
    `--pid-file=${join(folder, 'pid')}`,
    ...(options.durable === true ? [] : product.notDurable),
    ...(options.flags ?? []),
  ]
}

function runClient(program: string, socket: string, database: string, input: string): string {
  const options = { input, encoding: 'utf8', stdio: 'pipe' } as const
  return execFileSync(program, clientArgs(socket, database), options).trim()
}

function clientArgs(socket: string, database: string): string[] {
  return ['--no-defaults', '-S', socket, '-u', 'root', '-N', '-B', database]
}

/**
 * The system's MariaDB or the newest one, which finds its messages and scripts from its base
 * folder.
 */
function mariadb(): Product {
  const newest = usesNewest(NEWEST_MARIADB)
  const base = newest ? [`--basedir=${newestPath(NEWEST_MARIADB, 'usr')}`] : []
  const program = (path: string, name: string): string =>
    newest ? newestPath(NEWEST_MARIADB, path) : name
  const install = program('usr/bin/mariadb-install-db', 'mariadb-install-db')
  return {
    name: 'MariaDB',
    server: program('usr/sbin/mariadbd', 'mariadbd'),
    client: program('usr/bin/mariadb', 'mariadb'),
    flags: base,
    notDurable: ['--innodb-flush-log-at-trx-commit=0'],
    install: [install, ...base, '--auth-root-authentication-method=normal', '--skip-test-db'],
  }
}

/** The newest MySQL. Its packages have paths of the system built in, so that each is named. */
function newestMysql(): Product {
  const server = newestPath(NEWEST_MYSQL, 'usr/sbin/mysqld')
  const flags = [
    `--basedir=${newestPath(NEWEST_MYSQL, 'usr')}`,
    `--lc-messages-dir=${newestPath(NEWEST_MYSQL, 'usr/share/mysql')}`,
    '--secure-file-priv=NULL',
    // Many short-lived servers need not have a hundred megabytes each.
    '--innodb-redo-log-capacity=8M',
  ]
  return {
    name: 'MySQL',
    server,
    client: newestPath(NEWEST_MYSQL, 'usr/bin/mysql'),
    flags: [...flags, '--mysqlx=OFF'],
    notDurable: ['--innodb-flush-log-at-trx-commit=0', '--sync-binlog=0'],
    install: [server, '--initialize-insecure', ...flags],
  }
}
