/** A promise that a run broke. */
import type { HistoryEvent } from '@holdfast/conformance'
import type { Breach } from '../workload/circumstances.js'

export interface Finding extends Breach {
  /** The piece of the history that shows it, where there is one. */
  readonly events?: readonly HistoryEvent[]
}
