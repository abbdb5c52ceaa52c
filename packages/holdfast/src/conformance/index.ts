/**
 * `holdfast/conformance`: what a store is tested with, and what its histories are judged by.
 *
 * The test runner is passed in, and the store comes as a subject:
 *
 *     import { conformanceSuite } from 'holdfast/conformance'
 *     import { describe, test } from 'node:test'
 *
 *     conformanceSuite(
 *       { name: 'mine', traits, open: () => myStore(url), worker: { command: 'node', args: ['worker.mjs', url] } },
 *       { describe, test, skip: test.skip },
 *     )
 *
 * The worker is a program of two lines that calls `serveWorker(() => myStore(url))`; the suite
 * kills it.
 */
export { SeededRandom, settle, VirtualClock } from './virtual-clock.js'
export { conformanceCases, conformanceSuite, type Assignment } from './suite.js'
export type { Runner, Skip, Subject, WorkerCommand } from './subject.js'
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
export { realTime, virtualTime, type Time } from './time.js'
export { serveWorker } from './worker/serve.js'
export { contend, type ContentionOptions } from './contend.js'
export {
  formatEvent,
  HistoryError,
  nanoseconds,
  afterLastEvents,
  parseHistory,
  readHistory,
  Recorder,
  type HistoryAction,
  type HistoryEvent,
  type HistoryMode,
  type HistoryNote,
  type HistoryType,
  type ReadOptions,
} from './history/index.js'
export * from './check/index.js'
