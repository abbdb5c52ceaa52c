/** What histories are judged by. */
export { checkHistory, type CheckOptions, type Promised } from './check-history.js'
export { checkExclusion } from './exclusion.js'
export type { Hold, Release, Wait } from './hold.js'
export { holdsOf, tellStory, type Story } from './story.js'
export { checkTokens } from './tokens.js'
export type { Violation } from './violation.js'
