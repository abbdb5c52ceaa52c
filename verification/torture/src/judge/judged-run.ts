/** A run that is over, with what happened in it and how it was judged. */
import type { Outcome, RunOptions } from '../run/run.js'
import type { Judgement } from './judgement.js'

export interface JudgedRun {
  readonly options: Omit<RunOptions, 'signal' | 'progress'>
  readonly outcome: Outcome
  readonly judgement: Judgement
}
