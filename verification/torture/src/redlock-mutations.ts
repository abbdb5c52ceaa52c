/** What of the library is broken on purpose that a run on Redlock shows. */
import type { TortureMutation } from './mutation.js'

export const REDLOCK_MUTATIONS: readonly TortureMutation[] = [
  {
    name: 'at-least-ends-early',
    breaks: 'A lock stays taken for `atLeastMs`, also when the work under it ends sooner',
    edits: [
      {
        file: 'lease/release/stay-taken.js',
        find: 'Math.ceil(keptUntilMs - nowMs)',
        replace: '0',
      },
    ],
    store: 'redlock',
    faults: ['latency'],
    shows: ['exclusion'],
  },
]
