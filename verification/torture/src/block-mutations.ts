/** Mutations of the thread that renews beside a blocked event loop. */
import { MUTATIONS as SIMULATED, type Edit } from '@holdfast/simulator'
import type { TortureMutation } from './mutation.js'

function edits(name: string): readonly Edit[] {
  return SIMULATED.filter((mutation) => mutation.name === name).flatMap((one) => one.edits)
}

export const BLOCK_MUTATIONS: readonly TortureMutation[] = [
  {
    name: 'thread-renews-nothing',
    breaks: 'A blocked event loop keeps its leases',
    edits: edits('helper-renews-nothing'),
    store: 'redis',
    faults: ['block'],
    seconds: 60,
    shows: ['kept'],
  },
  {
    name: 'thread-ignores-limit',
    breaks: 'The thread renews no later than `blockedAtMostMs` after the last beat',
    edits: edits('helper-cap-ignored'),
    masked: 'three places keep the limit',
    store: 'redis',
    faults: ['block'],
    seconds: 25,
    shows: ['held'],
  },
]
