/**
 * The settings of a machine: a file of JSON that says where the locks are, for every user and
 * job. HOLDFAST_CONFIG names another file; an empty one means none.
 */
import { closeSync, fstatSync, openSync, readFileSync, type Stats } from 'node:fs'
import { isAbsolute } from 'node:path'
import { withoutCredentials } from '../../url/secrets.js'
import { nearest } from '../../options/nearest-word.js'
import { ConfigError } from '../cli-error.js'

/** The start in bin/holdfast.cjs looks for the same file. */
export const HOST_FILE = '/etc/holdfast.json'

export interface HostSettings {
  readonly file: string
  readonly store?: string
  readonly modules?: string
}

type Env = Readonly<Record<string, string | undefined>>

const KEYS = ['store', 'modules'] as const

/**
 * Reads the settings of this machine. `isNeeded` is false where the store is known: then a file
 * that the caller may not read counts as none.
 * @throws ConfigError for a file that cannot be used; it never quotes the content.
 */
export function readHostSettings(
  env: Env = process.env,
  isNeeded = true,
): HostSettings | undefined {
  const file = env['HOLDFAST_CONFIG'] ?? HOST_FILE
  if (file === '') return undefined
  const found = contentOf(file, isNeeded, env['HOLDFAST_CONFIG'] !== undefined)
  if (found === undefined) return undefined
  const settings = { file, ...parsed(file, found.text) }
  refuseForeign(file, found.stats, settings)
  return settings
}

function contentOf(
  file: string,
  isNeeded: boolean,
  isNamed: boolean,
): { readonly text: string; readonly stats: Stats } | undefined {
  let fd: number
  try {
    fd = openSync(file, 'r')
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT'
    if (!isNeeded || (isMissing && !isNamed)) return undefined
    throw failure(file, `it cannot be read: ${(cause as Error).message}. Write --store URL`, cause)
  }
  try {
    return { stats: fstatSync(fd), text: readFileSync(fd, 'utf8') }
  } catch (cause) {
    throw failure(file, `it cannot be read: ${(cause as Error).message}`, cause)
  } finally {
    closeSync(fd)
  }
}

function parsed(file: string, text: string): Omit<HostSettings, 'file'> {
  const settings = objectIn(text)
  if (settings === undefined)
    throw failure(file, 'it is no JSON object. Write: {"store": "redis://host:6379/0"}')
  for (const [key, value] of Object.entries(settings)) {
    if (!KEYS.some((known) => known === key)) {
      const near = nearest(key, KEYS)
      const hint = near === undefined ? `Known: ${KEYS.join(', ')}` : `Did you mean ${near}?`
      throw failure(file, `it has the key ${JSON.stringify(key)}, which does not exist. ${hint}`)
    }
    if (typeof value !== 'string' || value === '')
      throw failure(file, `its value of ${key} must be a text`)
  }
  const { modules } = settings as Omit<HostSettings, 'file'>
  if (modules !== undefined && !isAbsolute(modules))
    throw failure(file, 'modules must be an absolute path')
  return settings
}

function objectIn(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    // The error of JSON.parse quotes the text, which may hold a password.
    return undefined
  }
}

/** The file decides which code runs, so only the caller and root may write to it. */
function refuseForeign(file: string, { uid, mode }: Stats, { store = '' }: HostSettings): void {
  const own = process.geteuid?.()
  if (own === undefined) return
  if ((uid !== own && uid !== 0) || (mode & 0o022) !== 0)
    throw failure(file, 'another user may write to it. Make it root’s: chown root, chmod 644')
  if ((mode & 0o004) !== 0 && withoutCredentials(store) !== store)
    throw failure(
      file,
      'every user may read the password in it. Run chmod 640, or use a file of the password',
    )
}

function failure(file: string, what: string, cause?: unknown): ConfigError {
  return new ConfigError(`The settings in ${file} are not used: ${what}.`, { cause })
}
