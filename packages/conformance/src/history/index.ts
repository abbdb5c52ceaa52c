/**
 * Histories: the requests and answers of clients, one line of JSON each, to be checked after a run.
 *
 * `event.ts` describes an event; `docs/internals/history.md` shows a whole history.
 */
export { HistoryError } from './error.js'
export type { HistoryAction, HistoryEvent, HistoryMode, HistoryNote, HistoryType } from './event.js'
export { formatEvent } from './format.js'
export { afterLastEvents } from './kills.js'
export { parseHistory, readHistory, type ReadOptions } from './read.js'
export { nanoseconds, Recorder } from './recorder.js'
