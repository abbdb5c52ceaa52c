/**
 * `@holdfast/conformance`: the test suite for stores, and the checkers of histories.
 *
 * The caller passes the store as a subject, and the test runner:
 *
 *     import { conformanceSuite } from '@holdfast/conformance'
 *     import { describe, test } from 'node:test'
 *
 *     const worker = { command: 'node', args: ['worker.mjs', url] }
 *     conformanceSuite(
 *       { name: 'mine', traits, open: () => myStore(url), worker },
 *       { describe, test, skip: test.skip },
 *     )
 *
 * The worker is a program that calls `serveWorker(() => myStore(url))`. The suite kills it.
 */
export { conformanceCases, conformanceSuite, type Assignment } from './suite.js'
export type { Runner, Skip, Subject, WorkerCommand } from './subject.js'
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
