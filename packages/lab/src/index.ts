/** The parts of the lab, for its command, its tests and the benchmark. */
export { measureStores, type StoreFigures, type Unmeasured } from './scenarios/choose/measure.js'
export {
  COSTS,
  HAVE,
  HEATS,
  MACHINES,
  recommend,
  type Answers,
  type Recommendation,
} from './scenarios/choose/recommend.js'
export { EVERYDAY, everyday, type EverydayResult } from './scenarios/everyday/everyday.js'
export type { Everyday } from './scenarios/everyday/play.js'
export {
  ladder,
  type LadderResult,
  type LadderStep,
  type LadderTake,
} from './scenarios/ladder/ladder.js'
export {
  Oversell,
  type OversellResult,
  type OversellSettings,
} from './scenarios/oversell/oversell.js'
export type { OversellRow } from './scenarios/oversell/rush.js'
export { SERVICES, type ServiceName } from './services/catalogue.js'
export { SHOP_TITLES } from './shop/shop.js'
export { codeOf, codesOf } from './strategies/code.js'
export { STRATEGIES } from './strategies/index.js'
export { STORES, type StoreName } from './strategies/stores.js'
export { milliseconds, perSecond } from './report/figures.js'
export { leftOutText, pageOf } from './report/html.js'
export type { LabReport } from './report/report.js'
export { drawLegend, drawTimeline, onOneScale, type Timeline } from './report/timeline.js'
export { soundFirst, verdictOf } from './report/verdict.js'
export { say, STRATEGY, TOPIC, type Said } from './text/said.js'
export { LANGUAGES, languageOf, textsOf, type Language } from './text/language.js'
export { fill, type Texts } from './text/texts.js'
export { Visit } from './visit.js'
