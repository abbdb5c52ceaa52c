/**
 * All commands. What `holdfast run` does without, and is big, is loaded only when it is called: a
 * run must start fast.
 */
import type { Command } from './command.js'
import { command as doctor } from './doctor.js'
import { command as inspect } from './inspect.js'
import { command as lab } from './lab.js'
import { command as ls } from './ls.js'
import { command as migrate } from './migrate.js'
import { command as release } from './release.js'
import { command as run } from './run.js'
import { command as steal } from './steal.js'

interface Entry {
  readonly about: string
  readonly load: () => Promise<Command>
}

export const COMMANDS: Readonly<Record<string, Entry>> = {
  run: { about: 'Run a command under a lock', load: async () => run },
  ls: { about: 'List the locks that are held or waited for', load: async () => ls },
  inspect: { about: 'Show one lock', load: async () => inspect },
  release: { about: 'Give back a claim by its id', load: async () => release },
  steal: { about: 'Take a lock away from its holders', load: async () => steal },
  migrate: { about: 'Make what a store in a database needs', load: async () => migrate },
  lab: { about: 'See what goes wrong with locks, and what helps', load: async () => lab },
  doctor: { about: 'Check the store and this machine', load: async () => doctor },
}
