/**
 * Everything that one visit to the lab has brought: what `--json` prints, and what the page is made
 * from.
 */
import type { Answers, Recommendation } from '../scenarios/choose/recommend.js'
import type { StoreFigures } from '../scenarios/choose/measure.js'
import type { EverydayResult } from '../scenarios/everyday/everyday.js'
import type { LadderResult } from '../scenarios/ladder/ladder.js'
import type { OversellResult } from '../scenarios/oversell/oversell.js'
import type { LeftOut } from '../services/services.js'
import type { Language } from '../text/language.js'

export interface LabReport {
  readonly language: Language
  /** When it was made, as ISO 8601. */
  readonly madeAt: string
  readonly oversell?: OversellResult
  readonly ladder?: LadderResult
  readonly everyday?: readonly EverydayResult[]
  readonly choice?: {
    readonly answers: Answers
    readonly recommendation: Recommendation
    readonly figures: readonly StoreFigures[]
    /** Stores that are there and could not be measured, each with a sentence about it. */
    readonly unmeasured: readonly { readonly store: string; readonly why: string }[]
  }
  readonly leftOut: readonly LeftOut[]
}
