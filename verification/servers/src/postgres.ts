/**
 * A private PostgreSQL: its own data folder and port, trusting all connections from this machine.
 * The server refuses to run as root, so that it runs as the user of Debian's package then.
 */
import { execFile, execFileSync } from 'node:child_process'
import { chownSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { newestPath, usesNewest, type NewestServer } from './newest.js'
import { makeFolder, removeFolder } from './folders.js'
import { freePorts, listens } from './ports.js'
import { Service } from './service.js'
import { makeOrCopy } from './templates.js'

export const NEWEST_POSTGRES: NewestServer = {
  name: 'postgres',
  packages: ['postgresql'],
  versionOf: /^postgresql-\d+_/,
}

/** The one user, if a test makes it, who has to give a password. */
export const GUARDED = 'guarded'

const VERSIONS = '/usr/lib/postgresql'

export interface PostgresServer {
  readonly service: Service
  readonly port: number
  /** Of the superuser, in the database `postgres`. */
  readonly url: string
  /**
   * Runs SQL as the superuser and returns what `psql` prints. This process does nothing meanwhile,
   * which renewals and timers notice.
   */
  psql(sql: string): string
  /** Does the same while this process continues. */
  ask(sql: string): Promise<string>
  /** Ends the server and removes its files. */
  remove(): Promise<void>
}

interface PostgresOptions {
  readonly durable?: boolean
  readonly settings?: Readonly<Record<string, string>>
  readonly env?: NodeJS.ProcessEnv
}

/** The user and group that a server runs as. */
interface User {
  readonly uid: number
  readonly gid: number
}

/**
 * Starts a server. `settings` are as in postgresql.conf. Without `durable` it does not wait for the
 * disk, which changes nothing in what clients see while the machine lives.
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const bin = binaries()
  const folder = makeFolder('postgres')
  const user = userFor('postgres')
  if (user) chownSync(folder, user.uid, user.gid)
  const env = options.env === undefined ? {} : { env: options.env }
  const data = makeDataFolder(bin, folder, { ...env, ...user })
  const [port = 0] = await freePorts(1)
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: folder,
    fsync: options.durable === true ? 'on' : 'off',
    ...options.settings,
  }
  const service = new Service({
    name: 'PostgreSQL',
    command: join(bin, 'postgres'),
    args: ['-D', data, '-p', String(port), ...flags(settings)],
    ...env,
    ...user,
    // A port that listens may still refuse with "the database system is starting up".
    ready: async () => (await listens(port)) && psql(bin, port, 'select 1') === '1',
  })
  await service.start()
  return {
    service,
    port,
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    psql: (sql) => psql(bin, port, sql),
    async ask(sql) {
      const { stdout } = await promisify(execFile)(join(bin, 'psql'), psqlArgs(port, sql))
      return stdout.trim()
    },
    async remove() {
      // A wish to end waits for clients that are still connected: SIGINT does not.
      service.kill('SIGINT')
      await service.stop()
      removeFolder(folder)
    },
  }
}

/** Makes the data folder, trusting all users but the guarded one, and returns its path. */
function makeDataFolder(
  bin: string,
  folder: string,
  runAs: Partial<User> & { readonly env?: NodeJS.ProcessEnv },
): string {
  const data = join(folder, 'data')
  const args = ['-D', data, '-A', 'trust', '-U', 'postgres', '--no-sync', '-E', 'UTF8']
  const initdb = join(bin, 'initdb')
  const make = (): void => {
    execFileSync(initdb, args, { ...runAs, cwd: folder, stdio: 'pipe' })
  }
  // A locale of the caller may not be installed on this machine.
  if (!runAs.env) args.push('--locale=C')
  // Another environment may make another folder.
  if (runAs.env) make()
  else makeOrCopy(initdb, data, make)
  const access = join(data, 'pg_hba.conf')
  writeFileSync(access, `host all ${GUARDED} all scram-sha-256\n${readFileSync(access, 'utf8')}`)
  return data
}

/**
 * The user and group of a server that refuses to run as root; undefined when this process is not
 * root's.
 */
export function userFor(name: string): User | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string): number =>
    Number(execFileSync('id', [flag, name], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

function flags(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

function binaries(): string {
  const folder = usesNewest(NEWEST_POSTGRES) ? newestPath(NEWEST_POSTGRES, VERSIONS) : VERSIONS
  const versions = existsSync(folder) ? readdirSync(folder) : []
  const latest = versions.toSorted((one, other) => Number(other) - Number(one))[0]
  if (latest === undefined)
    throw new Error(`There is no PostgreSQL in ${folder}: node scripts/needs.mjs`)
  return join(folder, latest, 'bin')
}

function psql(bin: string, port: number, sql: string): string {
  const args = psqlArgs(port, sql)
  return execFileSync(join(bin, 'psql'), args, { encoding: 'utf8', stdio: 'pipe' }).trim()
}

function psqlArgs(port: number, sql: string): string[] {
  return [
    '-X',
    '-A',
    '-t',
    '-h',
    '127.0.0.1',
    '-p',
    String(port),
    '-U',
    'postgres',
    '-v',
    'ON_ERROR_STOP=1',
    '-c',
    sql,
  ]
}
