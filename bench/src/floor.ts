/**
 * The floor: the least that a pair with a fencing token asks of a store, through the same client
 * library and in the same rounds. Where a bar is missed, the floor shows whether it can be met.
 */
import { inWords, medianRate, pair } from './paired.js'
import type { Row } from './report.js'

/** The subject of a floor, and its name among the figures of a row. */
export const FLOOR = 'floor'

export interface BesideFloor {
  /** Rates, an entry a round. */
  readonly ours: readonly number[]
  readonly floor: readonly number[]
  /** Of the peer that the bar names. */
  readonly peer: readonly number[]
  readonly peerName: string
  /** What must be reached beside that peer; undefined where nothing must be. */
  readonly least: number | undefined
}

/** Returns the floor of a row, and whether it reaches what the row has to reach. */
export function besideFloor(rates: BesideFloor): Pick<Row, 'floor' | 'floorReaches'> {
  const { ours, floor, peer, peerName, least } = rates
  if (floor.length === 0) return {}
  const [ofFloor, ofPeer] = [pair(ours, floor), pair(floor, peer)]
  const text = `${medianRate(floor)}: Holdfast ${inWords(ofFloor)} of it, it ${inWords(ofPeer)} of ${peerName}`
  return { floor: text, ...(least === undefined ? {} : { floorReaches: ofPeer.ratio >= least }) }
}
