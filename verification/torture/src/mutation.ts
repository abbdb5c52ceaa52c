/** A mutation: which promise is broken on purpose, by which edits, and the run that shows it. */
import type { Edit } from '@holdfast/simulator'
import type { AnyProperty } from './command-line/promised.js'
import type { AnyFaultKind } from '@holdfast/stores/faults/catalogue'

export interface TortureMutation {
  /** Of which package the copy is made; `holdfast` where none is named. */
  readonly of?: 'cli'
  readonly name: string
  readonly breaks: string
  readonly edits: readonly Edit[]
  /** Why more than one line is changed. */
  readonly masked?: string
  /** What shows it: a store, faults, and the promises that break. */
  readonly store: string
  readonly faults: readonly AnyFaultKind[]
  /** How long a run must be to show it, where that is longer than for most. */
  readonly seconds?: number
  readonly shows: readonly AnyProperty[]
}
