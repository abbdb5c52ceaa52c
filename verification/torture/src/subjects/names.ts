/** Who can be tried. */
import { CONTROLS } from '@holdfast/broken-locks'
import type { SubjectName } from '../protocol.js'

export const PEERS = ['redlock', 'redis-semaphore', 'verrou', 'redlock-universal'] as const
export type PeerName = (typeof PEERS)[number]

export const SUBJECT_NAMES: readonly SubjectName[] = [
  'holdfast',
  'command-line',
  'control:good',
  ...CONTROLS.map(({ id }) => `control:${id}` as const),
  ...PEERS.map((name) => `peer:${name}` as const),
]
