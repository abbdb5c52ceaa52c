/** Prints what a command found in the store: as JSON, or as a page for people. */
import { systemClock } from '../../index.js'
import type { StoreLocation } from '../stores/locate.js'
import { isoTime, printAnswer } from './json.js'
import { stdout } from './streams.js'
import type { TableOptions } from './table.js'
import { paintFor, widthOf } from './terminal.js'

export interface Found {
  /** Returns the fields of the answer. The store answered at `nowMs` of this machine's clock. */
  readonly json: (nowMs: number) => object
  readonly page: (options: Required<TableOptions>, nowMs: number) => string
}

/** @param asJson the option `--json` */
export function printFound(asJson: boolean, location: StoreLocation, found: Found): void {
  const nowMs = systemClock.wallMs()
  if (asJson) printAnswer({ at: isoTime(nowMs), store: location.shown, ...found.json(nowMs) })
  else stdout().write(found.page({ width: widthOf(stdout()), paint: paintFor(stdout()) }, nowMs))
}
