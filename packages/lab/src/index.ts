/** The lab behind `holdfast lab`. Private: it is a part of the command line's bundle. */
export {
  Oversell,
  type OversellResult,
  type OversellRow,
  type OversellSettings,
} from './scenarios/oversell/oversell.js'
export { EVERYDAY, everyday, type EverydayResult } from './scenarios/everyday/everyday.js'
export { ladder, type LadderResult, type LadderStep } from './scenarios/ladder/ladder.js'
export { Services } from './services/services.js'
export { STRATEGIES } from './strategies/index.js'
