/** Which store a command uses, and why. */
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { UsageError } from '../cli-error.js'
import { redact } from '../output/text.js'

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
    if (options.store !== undefined)
      throw new UsageError('--store and --system name two stores; give one of them.')
    return location(`embedded:${systemFolder()}`, '--system')
  }
  if (options.store !== undefined) return location(options.store, '--store')
  const inherited = env['HOLDFAST_STORE']
  if (inherited !== undefined && inherited !== '') return location(inherited, 'HOLDFAST_STORE')
  return location(`embedded:${userFolder(env)}`, 'default')
}

/** The folder of this user's locks. */
export function userFolder(env: Env = process.env): string {
  const home = env['HOME'] ?? homedir()
  if (process.platform === 'darwin') return join(home, 'Library', 'Application Support', 'holdfast')
  const state = env['XDG_STATE_HOME']
  // The XDG specification says that a relative path is to be ignored.
  return join(state !== undefined && isAbsolute(state) ? state : join(home, '.local', 'state'), 'holdfast')
}

/** The folder of the locks that all users of this machine share. */
export function systemFolder(): string {
  return process.platform === 'darwin' ? '/Library/Application Support/holdfast' : '/var/lib/holdfast'
}

function location(url: string, source: StoreLocation['source']): StoreLocation {
  return { url, shown: redact(url), source }
}
