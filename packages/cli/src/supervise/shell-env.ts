/**
 * Brings an environment through a shell unchanged.
 *
 * A shell is no transparent window: dash drops variables whose names it could not write
 * (`spring.port`), resets the ones it uses itself (IFS), refuses to start on a strange OPTIND, and
 * adds PWD. The command must see what it would see without us, so those variables travel under
 * plain names and `env` puts them back right before the command.
 */
import { existsSync } from 'node:fs'

export interface SafeEnv {
  /** For the shell. */
  readonly env: Record<string, string>
  /** Shell code to run before `exec "$@"`. It holds no data of the user, only names made here. */
  readonly prelude: string
}

const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/** Variables that some shell overwrites, refuses, or acts on. */
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

/** Variables that shells add when they are not there. */
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
  // To `env` whatever has a sign of equality is one more variable. `nice` starts its operand
  // whatever its name is, and adding nothing it changes nothing; a shell would drop what `env` has
  // just put back.
  const starter = program.includes('=') ? `${systemTool('nice')} -n 0 -- ` : ''
  return `set -- ${systemTool('env')} -- ${pairs} ${starter}"$@"; unset ${carriers.join(' ')}; `
}

/** The PATH is that of the command, and need not lead to the tools of the system. */
function systemTool(name: 'env' | 'nice'): string {
  return (
    ['/usr/bin', '/bin'].map((folder) => `${folder}/${name}`).find((path) => existsSync(path)) ??
    name
  )
}
