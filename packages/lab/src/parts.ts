/** Everything that a process of the lab can be asked to do. */
import { holdForEver, measureFree, measureHandOff, waitBehind } from './scenarios/choose/worker.js'
import { EVERYDAY } from './scenarios/everyday/everyday.js'
import {
  acquireLock,
  believes,
  closeLock,
  openLock,
  releaseLock,
} from './scenarios/ladder/client.js'
import { sellOut } from './scenarios/oversell/counter.js'
import type { Part } from './processes/protocol.js'

export const PARTS: Readonly<Record<string, Part>> = {
  oversell: sellOut,
  'ladder-open': openLock,
  'ladder-acquire': acquireLock,
  'ladder-believes': believes,
  'ladder-release': releaseLock,
  'ladder-close': closeLock,
  'measure-free': measureFree,
  'measure-hand-off': measureHandOff,
  hold: holdForEver,
  'wait-behind': waitBehind,
  ...Object.fromEntries(EVERYDAY.map(({ id, play }) => [id, play])),
}
