/**
 * All commands. Only `run` is loaded at once, since it must start fast; the others are loaded when
 * they are called.
 */
import type { Command, CommandEntry } from './command.js'
import type { completion } from './completion.js'
import { command as run } from './run.js'

interface Module {
  readonly command: Command
}

const later = {
  acquire: () => require('./acquire.js') as Module,
  console: () => require('./console.js') as Module,
  deadlocks: () => require('./deadlocks.js') as Module,
  doctor: () => require('./doctor.js') as Module,
  elect: () => require('./elect.js') as Module,
  inspect: () => require('./inspect.js') as Module,
  lab: () => require('./lab.js') as Module,
  ls: () => require('./ls.js') as Module,
  migrate: () => require('./migrate.js') as Module,
  release: () => require('./release.js') as Module,
  renew: () => require('./renew.js') as Module,
  steal: () => require('./steal.js') as Module,
  watch: () => require('./watch.js') as Module,
}

export type CommandName = 'run' | 'completion' | keyof typeof later

function other(name: keyof typeof later, about: string): CommandEntry {
  return { about, load: () => later[name]().command }
}

function loadCompletion(): Command {
  const module = require('./completion.js') as { readonly completion: typeof completion }
  return module.completion(COMMANDS)
}

export const COMMANDS: Readonly<Record<CommandName, CommandEntry>> = {
  run: { about: 'Run a command under a lock', load: () => run },
  elect: other('elect', 'Run a command on the leader of several candidates'),
  ls: other('ls', 'List the locks that are held or waited for'),
  inspect: other('inspect', 'Show one lock'),
  deadlocks: other('deadlocks', 'Show the holders that wait for each other'),
  watch: other('watch', 'Watch the locks in the terminal'),
  console: other('console', 'Watch the locks in the browser'),
  acquire: other('acquire', 'Acquire a lock and print its handle'),
  renew: other('renew', 'Renew the lock of a handle'),
  release: other('release', 'Release the lock of a handle'),
  steal: other('steal', 'End the grants of a lock, or one claim'),
  migrate: other('migrate', 'Create the tables of a store in a database'),
  doctor: other('doctor', 'Check the store and this machine'),
  completion: { about: 'Print the completion script of a shell', load: loadCompletion },
  lab: other('lab', 'See what goes wrong with locks, and what helps'),
}

/** Words of other tools, and the commands that they mean here. */
export const SYNONYMS: Readonly<Record<string, CommandName>> = {
  check: 'inspect',
  dashboard: 'console',
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
