/** Everything that a process of the lab can be asked to do. */
import { sellOut } from './scenarios/oversell/counter.js'
import type { Part } from './processes/protocol.js'

export const PARTS: Readonly<Record<string, Part>> = {
  oversell: sellOut,
}
