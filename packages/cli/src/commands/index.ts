/**
 * All commands. Only `run` is loaded at once, since it must start fast; the others are loaded when
 * they are called.
 */
import type { Command } from './command.js'
import { command as run } from './run.js'

interface Entry {
  readonly about: string
  readonly load: () => Promise<Command>
}

type Other = keyof typeof import('./others.js')

function other(name: Other): Entry['load'] {
  return async () => (await import('./others.js'))[name]
}

export const COMMANDS: Readonly<Record<string, Entry>> = {
  run: { about: 'Run a command under a lock', load: async () => run },
  ls: {
    about: 'List the locks that are held or waited for',
    load: other('ls'),
  },
  inspect: { about: 'Show one lock', load: other('inspect') },
  release: {
    about: 'Release a claim by its id',
    load: other('release'),
  },
  steal: {
    about: 'End the grants of a lock',
    load: other('steal'),
  },
  migrate: {
    about: 'Create the tables of a store in a database',
    load: other('migrate'),
  },
  lab: {
    about: 'See what goes wrong with locks, and what helps',
    load: other('lab'),
  },
  doctor: {
    about: 'Check the store and this machine',
    load: other('doctor'),
  },
}

/** Words of other tools, and the commands that they mean here. */
export const SYNONYMS: Readonly<Record<string, string>> = {
  check: 'inspect',
  exec: 'run',
  force: 'steal',
  list: 'ls',
  lock: 'run',
  show: 'inspect',
  status: 'inspect',
  top: 'ls',
  unlock: 'steal',
}
