import type { Grant } from '../grant/grant.js'
import type { ReleaseListener, ReleaseOutcome } from './release-until-answered.js'

/** Takes grants back: the local queue that a grant serves, or the store alone. */
export interface GrantReturner {
  /**
   * @param listener hears an outcome that comes later, before its promise resolves; nothing of a
   * failure
   */
  returnGrant(grant: Grant, nowMs: number, listener?: ReleaseListener): ReleaseOutcome
}
