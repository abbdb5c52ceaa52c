/** What all who take part in a run know of it, and where they say what they see. */

/** A promise that was seen broken. */
export interface Breach {
  readonly property: string
  /** The lock. */
  readonly key: string
  /** A sentence for people. */
  readonly message: string
}

export interface Circumstances {
  /** Nothing new is begun, and what is at work comes to its end. */
  readonly closing: boolean
  breach(breach: Breach): void
}
