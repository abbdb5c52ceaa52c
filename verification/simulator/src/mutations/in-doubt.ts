/** Mutations of what all stores share for requests without an answer. */
import type { Mutation } from './mutation.js'

export const IN_DOUBT_MUTATIONS: readonly Mutation[] = [
  {
    name: 'doubt-forgotten',
    breaks: 'A claim is in doubt for as long as a request of it may arrive',
    edits: [
      {
        file: 'in-doubt/claims-in-doubt.js',
        find: 'Math.max(nowMs + forMs,',
        replace: 'Math.max(nowMs,',
      },
    ],
    store: 'redlock',
    scenario: 'doubled-retraction',
  },
]
