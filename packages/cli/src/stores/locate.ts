/** Finds the store that a command uses. */
import { resolve } from 'node:path'
import { defaultDirectory, SYSTEM_DIRECTORY } from 'holdfast/embedded'
import { ConfigError, UsageError } from '../cli-error.js'
import { embeddedOptions, shownUrl } from 'holdfast/url'

export interface StoreLocation {
  readonly url: string
  /** Without credentials, for people. */
  readonly shown: string
  readonly source: '--store' | '--system' | 'HOLDFAST_STORE' | 'default'
}

export interface LocateOptions {
  readonly store: string | undefined
  readonly system: boolean | undefined
}

type Env = Readonly<Record<string, string | undefined>>

export function locateStore(options: LocateOptions, env: Env = process.env): StoreLocation {
  if (options.system === true) {
    if (options.store !== undefined) {
      throw new UsageError('--store and --system name two stores; give one of them.')
    }
    return location(`embedded:${SYSTEM_DIRECTORY}`, '--system')
  }
  if (options.store !== undefined) return location(options.store, '--store')
  const inherited = env['HOLDFAST_STORE']
  if (inherited !== undefined && inherited !== '') return location(inherited, 'HOLDFAST_STORE')
  return location(`embedded:${folderOfUser()}`, 'default')
}

function folderOfUser(): string {
  try {
    return defaultDirectory()
  } catch (cause) {
    // Neither HOME nor the system's list of users names one, as for a numeric user in a container.
    throw new ConfigError(
      'The locks of a user are in the home folder, and this user has none. Set HOME, or write --store URL.',
      { cause },
    )
  }
}

function location(url: string, source: StoreLocation['source']): StoreLocation {
  const absolute = withAbsoluteFiles(withAbsoluteFolder(url))
  return { url: absolute, shown: shownUrl(absolute), source }
}

// The command inherits the URL and may change its folder: a relative path would then name another
// store or a missing file.

/** Options of URLs that name files, those of the client libraries included. */
const FILE_OPTIONS = new Set([
  ...['passwordFile', 'sentinelPasswordFile', 'ca', 'cert', 'key'],
  ...['sslcert', 'sslkey', 'sslrootcert'],
])

function withAbsoluteFiles(url: string): string {
  const mark = url.indexOf('?')
  // A folder may have any sign in its name.
  if (mark < 0 || /^embedded:/i.test(url)) return url
  const pairs = url.slice(mark + 1).split('&')
  return `${url.slice(0, mark)}?${pairs.map(withAbsoluteFile).join('&')}`
}

function withAbsoluteFile(pair: string): string {
  const [[name, path] = ['', '']] = new URLSearchParams(pair)
  if (path === '' || !FILE_OPTIONS.has(name)) return pair
  return `${name}=${encodeURIComponent(resolve(path)).replaceAll('%2F', '/')}`
}

function withAbsoluteFolder(url: string): string {
  const folder = /^embedded:([^/].*)$/i.exec(url)?.[1]
  // Refuses a folder that begins with ~, before `resolve` hides it.
  if (folder?.startsWith('~') === true) embeddedOptions(url)
  return folder === undefined || folder.startsWith('file:') ? url : `embedded:${resolve(folder)}`
}
