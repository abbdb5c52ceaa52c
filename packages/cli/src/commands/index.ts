/** All commands. Each is loaded only when it is called: `holdfast run` must start fast. */
import type { Command } from './command.js'

interface Entry {
  readonly about: string
  readonly load: () => Promise<{ readonly command: Command }>
}

export const COMMANDS: Readonly<Record<string, Entry>> = {
  run: { about: 'Run a command under a lock', load: () => import('./run.js') },
  ls: { about: 'List the locks that are held or waited for', load: () => import('./ls.js') },
  inspect: { about: 'Show one lock', load: () => import('./inspect.js') },
  release: { about: 'Give back a claim by its id', load: () => import('./release.js') },
  steal: { about: 'Take a lock away from its holders', load: () => import('./steal.js') },
  migrate: { about: 'Make what a store in a database needs', load: () => import('./migrate.js') },
  lab: { about: 'See what goes wrong with locks, and what helps', load: () => import('./lab.js') },
  doctor: { about: 'Check the store and this machine', load: () => import('./doctor.js') },
}
