/** What the main thread and the helper tell each other. */
import type { Renewal } from '../../../store/contract.js'
import type { StoreSource } from '../../../store/source.js'

/** What the helper starts with. */
export interface HelperSettings {
  readonly board: SharedArrayBuffer
  readonly source: StoreSource
  readonly blockedAtMostMs: number
}

/** A lease that the helper may renew from now on, or whose renewal has changed. */
export interface SharedLease {
  /** The number of its memory, and the place in it. */
  readonly page: number
  readonly index: number
  /** The memory, with the first lease in it. */
  readonly memory?: SharedArrayBuffer
  /** Whether it begins in its place. Another message changes its renewal, and may come too late. */
  readonly isNew: boolean
  readonly renewal: Renewal
  /** What an acknowledged renewal is worth, in milliseconds. */
  readonly worthMs: number
}

/** The helper's news of one lease that was stolen. */
export interface StolenLease {
  readonly claimId: string
  readonly stealReason: string | undefined
}
