/** `holdfast/testing`: time and stores under the control of a test. */
export { testingStore, type TestingStore, type TestingStoreOptions } from './testing-store.js'
export { dateClock } from './date-clock.js'
export { SeededRandom, settle, VirtualClock } from './virtual-clock.js'
export {
  FaultyStore,
  Gate,
  planFor,
  planForFirst,
  type Fate,
  type FaultyStoreOptions,
  type Message,
  type Plan,
  type Sent,
  type Verb,
} from './faulty-store.js'
