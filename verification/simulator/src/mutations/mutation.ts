/** A mutation: which promise is broken on purpose, and by which edits of the compiled package. */
import type { StoreName } from '../server/models.js'

/** One replacement in the compiled package. */
export interface Edit {
  readonly file: string
  readonly find: string
  readonly replace: string
  /** How often it stands there, where that is more than once: scripts share their parts. */
  readonly times?: number
}

export interface Mutation {
  readonly name: string
  /** Which promise of the design it breaks, as a sentence. */
  readonly breaks: string
  readonly edits: readonly Edit[]
  /** Why more than one line is changed. */
  readonly masked?: string
  /** The store model under which it shows; `memory` where none is named. */
  readonly store?: StoreName
  /** The directed scenario that shows it, where random seeds do not. */
  readonly scenario?: string
}
