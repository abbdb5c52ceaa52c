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

/** A server of Debian's that is fetched. A module of this package describes each that it starts. */
export interface NewestServer {
  readonly name: string
  readonly packages: readonly string[]
  /** What the package is called whose version is the server's. */
  readonly versionOf: RegExp
}

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
export function usesNewest({ name }: NewestServer): boolean {
  return (process.env['HOLDFAST_NEWEST'] ?? '').split(',').includes(name)
}

/** Whether it was fetched. */
export function hasNewest({ name }: NewestServer): boolean {
  return existsSync(join(newestFolder(), name, VERSION_FILE))
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
  const { name } = server
  if (!hasNewest(server)) {
    throw new Error(`The newest ${name} was not fetched: npm run servers:newest -- ${name}`)
  }
  return join(newestFolder(), name, path)
}
