/**
 * The newest servers that Debian has, each unpacked into a folder of its own beside the system's,
 * which stays as it is.
 *
 * `npm run servers:newest` fetches them. Their versions move, and nothing is pinned: what was found
 * is printed. They run with the loader and the libraries that they were made for.
 */
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Debian's package of each server, and how the package is called whose version is the server's. */
export const NEWEST_SERVERS = {
  etcd: { packages: ['etcd-server'], versionOf: /^etcd-server_/ },
  redis: { packages: ['redis-server'], versionOf: /^redis-server_/ },
  valkey: { packages: ['valkey-server'], versionOf: /^valkey-server_/ },
  postgres: { packages: ['postgresql'], versionOf: /^postgresql-\d+_/ },
  mysql: { packages: ['mysql-server-core', 'mysql-client-core'], versionOf: /^mysql-server-core/ },
  mariadb: {
    packages: ['mariadb-server-core', 'mariadb-client-core'],
    versionOf: /^mariadb-server-core_/,
  },
  zookeeper: { packages: ['zookeeper'], versionOf: /^zookeeper_/ },
} as const satisfies Record<string, { packages: readonly string[]; versionOf: RegExp }>

export type NewestServer = keyof typeof NEWEST_SERVERS

/** Says in each folder which version was found. */
export const VERSION_FILE = 'holdfast-version'

/** Servers run as users of their own, who must be able to read it: root's home would not do. */
export function newestFolder(): string {
  return process.getuid?.() === 0
    ? '/var/cache/holdfast/servers'
    : join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'holdfast', 'servers')
}

/**
 * Whether tests run on the newest one: the environment variable `HOLDFAST_NEWEST` lists names with
 * commas.
 */
export function usesNewest(server: NewestServer): boolean {
  return (process.env['HOLDFAST_NEWEST'] ?? '').split(',').includes(server)
}

/** Whether it was fetched. */
export function hasNewest(server: NewestServer): boolean {
  return existsSync(join(newestFolder(), server, VERSION_FILE))
}

/** The version that was fetched. */
export function newestVersion(server: NewestServer): string {
  return readFileSync(newestPath(server, VERSION_FILE), 'utf8').trim()
}

/**
 * The path of a file of the newest server, such as `usr/bin/etcd`.
 * @throws Error saying how to fetch it.
 */
export function newestPath(server: NewestServer, path: string): string {
  if (!hasNewest(server)) {
    throw new Error(`The newest ${server} was not fetched: npm run servers:newest -- ${server}`)
  }
  return join(newestFolder(), server, path)
}
