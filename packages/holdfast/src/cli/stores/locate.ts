/** Finds the store that a command uses. */
import { isAbsolute, resolve } from 'node:path'
import { defaultDirectory, SYSTEM_DIRECTORY } from '../../stores/embedded/index.js'
import { ConfigError, UsageError } from '../cli-error.js'
import { embeddedOptions } from '../../url/embedded.js'
import { shownUrl } from '../../url/secrets.js'
import { readHostSettings, type HostSettings } from './host-settings.js'
import { workingFolder } from './working-folder.js'

export interface StoreLocation {
  readonly url: string
  /** Without credentials, for people. */
  readonly shown: string
  /** `--store`, `--system`, `HOLDFAST_STORE`, the file of the machine's settings, or `default`. */
  readonly source: string
  /** The folder of `--modules`, absolute; undefined where a command finds its libraries itself. */
  readonly modules: string | undefined
}

export interface LocateOptions {
  readonly store: string | undefined
  readonly system: boolean | undefined
  readonly modules: string | undefined
}

type Env = Readonly<Record<string, string | undefined>>

/** An option comes before its variable, and that before the settings of the machine. */
export function locateStore(options: LocateOptions, env: Env = process.env): StoreLocation {
  // Not the working folder, which is not checked when an option names it.
  if (options.modules === '') throw new UsageError('Write: --modules PATH')
  const named = namedStore(options, env)
  const modules = options.modules ?? given(env['HOLDFAST_MODULES'])
  // The file is read for what is not given otherwise.
  const host =
    named !== undefined && modules !== undefined
      ? undefined
      : readHostSettings(env, named === undefined)
  const place = named ?? hostStore(host) ?? [`embedded:${folderOfUser()}`, 'default']
  return location(place, modules === undefined ? host?.modules : inWorkingFolder(modules))
}

type Place = readonly [url: string, source: string]

function namedStore({ store, system }: LocateOptions, env: Env): Place | undefined {
  if (system === true) {
    if (store === undefined) return [`embedded:${SYSTEM_DIRECTORY}`, '--system']
    throw new UsageError('--store and --system name two stores; give one of them.')
  }
  if (store !== undefined) return [store, '--store']
  const inherited = given(env['HOLDFAST_STORE'])
  return inherited === undefined ? undefined : [inherited, 'HOLDFAST_STORE']
}

function hostStore(host: HostSettings | undefined): Place | undefined {
  return host?.store === undefined ? undefined : [host.store, host.file]
}

function given(variable: string | undefined): string | undefined {
  return variable === '' ? undefined : variable
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

function location([url, source]: Place, modules: string | undefined): StoreLocation {
  const absolute = withAbsoluteFiles(withAbsoluteFolder(url))
  return { url: absolute, shown: shownUrl(absolute), source, modules }
}

// The command inherits the URL and may change its folder: a relative path would then name another
// store or a missing file.

/** Options of URLs that name files, those of the client libraries included. */
const FILE_OPTIONS = new Set([
  ...['passwordFile', 'sentinelPasswordFile', 'tokenFile', 'ca', 'cert', 'key'],
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
  return `${name}=${encodeURIComponent(inWorkingFolder(path)).replaceAll('%2F', '/')}`
}

function withAbsoluteFolder(url: string): string {
  const folder = /^embedded:([^/].*)$/i.exec(url)?.[1]
  // Refuses a folder that begins with ~, before `resolve` hides it.
  if (folder?.startsWith('~') === true) embeddedOptions(url)
  return folder === undefined || folder.startsWith('file:')
    ? url
    : `embedded:${inWorkingFolder(folder)}`
}

/** @throws ConfigError for a relative path, when the working folder was removed */
function inWorkingFolder(path: string): string {
  if (isAbsolute(path)) return path
  const folder = workingFolder()
  if (folder !== undefined) return resolve(folder, path)
  throw new ConfigError(
    `The path ${path} counts from the working folder, which was removed. Write an absolute path, or go to another folder.`,
  )
}
