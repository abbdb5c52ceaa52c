/**
 * All commands. Only `run` is loaded at once, since it must start fast; the others are loaded when
 * they are called.
 */
import type { Command } from './command.js'
import { command as run } from './run.js'

type Other = keyof typeof import('./loaded-later.js')
export type CommandName = 'run' | Other

interface Entry {
  readonly about: string
  readonly load: () => Promise<Command>
}

function other(name: Other, about: string): Entry {
  return { about, load: async () => (await import('./loaded-later.js'))[name] }
}

export const COMMANDS: Readonly<Record<CommandName, Entry>> = {
  run: { about: 'Run a command under a lock', load: async () => run },
  elect: other('elect', 'Run a command on the leader of several candidates'),
  ls: other('ls', 'List the locks that are held or waited for'),
  inspect: other('inspect', 'Show one lock'),
  deadlocks: other('deadlocks', 'Show the holders that wait for each other'),
  watch: other('watch', 'Watch the locks in the terminal'),
  acquire: other('acquire', 'Acquire a lock and print its handle'),
  renew: other('renew', 'Renew the lock of a handle'),
  release: other('release', 'Release the lock of a handle'),
  steal: other('steal', 'End the grants of a lock, or one claim'),
  migrate: other('migrate', 'Create the tables of a store in a database'),
  doctor: other('doctor', 'Check the store and this machine'),
  completion: other('completion', 'Print the completion script of a shell'),
  lab: other('lab', 'See what goes wrong with locks, and what helps'),
}

/** Words of other tools, and the commands that they mean here. */
export const SYNONYMS: Readonly<Record<string, CommandName>> = {
  check: 'inspect',
  exec: 'run',
  force: 'steal',
  lead: 'elect',
  list: 'ls',
  lock: 'acquire',
  monitor: 'watch',
  show: 'inspect',
  status: 'inspect',
  top: 'watch',
  unlock: 'release',
}

export function isCommand(word: string): word is CommandName {
  return Object.hasOwn(COMMANDS, word)
}
