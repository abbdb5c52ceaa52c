/**
 * Histories: what clients asked and were told, one line of JSON an event, to be judged after the
 * run.
 *
 * `event.ts` says what an event is; `docs/internals/history.md` shows a whole one.
 */
export { HistoryError } from './error.js'
export type { HistoryAction, HistoryEvent, HistoryMode, HistoryNote, HistoryType } from './event.js'
export { formatEvent } from './format.js'
export { afterLastEvents } from './kills.js'
export { parseHistory, readHistory, type ReadOptions } from './read.js'
export { nanoseconds, Recorder } from './recorder.js'
