/**
 * Carries an environment through a shell unchanged.
 *
 * A shell changes its environment. For example, dash drops variables with names such as
 * `spring.port`, resets its own (IFS), refuses to start with a strange OPTIND, and adds PWD. The
 * command must see what it would see without Holdfast, so those variables travel under plain names
 * and `env` restores them right before the command.
 */
import { existsSync } from 'node:fs'

export interface SafeEnv {
  /** For the shell. */
  readonly env: Record<string, string>
  /**
   * Shell code to run before `exec "$@"`. It contains no data of the user, only names from this
   * module.
   */
  readonly prelude: string
}

const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/** Variables that a shell overwrites, refuses, or acts on. */
const SHELLS_OWN = new Set([
  ...[
    'ENV',
    'BASH_ENV',
    'IFS',
    'LINENO',
    'OPTARG',
    'OPTIND',
    'PPID',
    'PS1',
    'PS2',
    'PS4',
    'UID',
    'EUID',
  ],
  ...['BASHOPTS', 'SHELLOPTS', 'BASH_VERSINFO', 'POSIXLY_CORRECT', 'MAIL', 'MAILPATH'],
])

/** Variables that shells add when they are missing. */
const ADDED = ['PWD', 'OLDPWD', 'SHLVL']

/** @param program the command without its arguments, which `env` must not take for a variable */
export function shellSafeEnv(
  original: Readonly<Record<string, string | undefined>>,
  program: string,
): SafeEnv {
  const env: Record<string, string> = {}
  const carried: string[] = []
  for (const [name, value] of Object.entries(original)) {
    if (value === undefined) continue
    if (PLAIN_NAME.test(name) && !SHELLS_OWN.has(name)) {
      env[name] = value
      continue
    }
    const carrier = `HOLDFAST_GATE_ENV_${carried.length}`
    env[carrier] = `${name}=${value}`
    carried.push(carrier)
  }
  return { env, prelude: unsetAdded(original) + restore(carried, program) }
}

function unsetAdded(original: Readonly<Record<string, string | undefined>>): string {
  const names = ADDED.filter((name) => original[name] === undefined)
  return names.length === 0 ? '' : `unset ${names.join(' ')}; `
}

function restore(carriers: readonly string[], program: string): string {
  if (carriers.length === 0) return ''
  const pairs = carriers.map((carrier) => `"$${carrier}"`).join(' ')
  // `env` takes an operand with `=` for a variable. `nice` starts an operand of any name, and with
  // 0 it changes nothing; a shell would drop what `env` has just restored.
  const starter = program.includes('=') ? `${systemTool('nice')} -n 0 -- ` : ''
  return `set -- ${systemTool('env')} -- ${pairs} ${starter}"$@"; unset ${carriers.join(' ')}; `
}

/** The PATH is that of the command, and may not lead to the tools of the system. */
function systemTool(name: 'env' | 'nice'): string {
  return (
    ['/usr/bin', '/bin'].map((folder) => `${folder}/${name}`).find((path) => existsSync(path)) ??
    name
  )
}
