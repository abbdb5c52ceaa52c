/** Mutations of Redlock: which votes count, and what becomes of those that do not. */
import type { Edit, Mutation } from './catalogue.js'

const inRedlock = (file: string, find: string, replace: string): Edit => ({
  file: `stores/redlock/${file}`,
  find,
  replace,
})

export const REDLOCK_MUTATIONS: readonly Mutation[] = [
  {
    name: 'redlock-half-is-enough',
    breaks: 'More than half of the servers have to vote',
    edits: [inRedlock('tally.js', 'Math.floor(nodes / 2) + 1', 'Math.floor(nodes / 2)')],
    store: 'redlock',
  },
]
