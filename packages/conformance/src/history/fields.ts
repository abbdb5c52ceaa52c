/** The fields that an event may and must have, and their form in JSON. */
import {
  HISTORY_ACTIONS,
  HISTORY_MODES,
  HISTORY_TYPES,
  type HistoryAction,
  type HistoryEvent,
  type HistoryType,
} from './event.js'

export type FieldName = keyof HistoryEvent

export interface Field {
  /** The end of the sentence "expected …". */
  readonly expected: string
  /** Returns undefined for a wrong value. */
  readonly read: (value: unknown) => bigint | number | string | undefined
}

const DIGITS = /^\d{1,30}$/

const big = (unit: string): Field => ({
  expected: `${unit}, as a string of digits or a JSON number up to 2^53 - 1`,
  read: (value) => {
    if (typeof value === 'string') return DIGITS.test(value) ? BigInt(value) : undefined
    // A larger JSON number has lost digits when it was parsed.
    return Number.isSafeInteger(value) && (value as number) >= 0
      ? BigInt(value as number)
      : undefined
  },
})

const count = (least: number): Field => ({
  expected: `a whole number from ${least} on`,
  read: (value) =>
    Number.isSafeInteger(value) && (value as number) >= least ? (value as number) : undefined,
})

const text: Field = {
  expected: 'a string',
  read: (value) => (typeof value === 'string' ? value : undefined),
}

const oneOf = (choices: readonly string[]): Field => ({
  expected: `one of ${choices.join(', ')}`,
  read: (value) => choices.find((choice) => choice === value),
})

export const FIELDS: { readonly [Name in FieldName]-?: Field } = {
  t_ns: big('nanoseconds'),
  pid: count(0),
  client: text,
  key: text,
  f: oneOf(HISTORY_ACTIONS),
  type: oneOf(HISTORY_TYPES),
  mode: oneOf(HISTORY_MODES),
  weight: count(1),
  capacity: count(1),
  claim: text,
  token: big('a token'),
  tokens: count(1),
  fence: big('a token'),
  value: count(0),
  deadline_ns: big('nanoseconds'),
  owner: text,
  start_ns: big('nanoseconds'),
  end_ns: big('nanoseconds'),
  note: text,
}

/** Every event has these. */
export const ALWAYS: readonly FieldName[] = ['t_ns', 'pid', 'client', 'key', 'f', 'type']

type Outcomes = { readonly [Type in HistoryType]?: readonly FieldName[] }

const PLAIN: Outcomes = { invoke: [], ok: [], fail: [], info: [] }

/** The types of each action, and the fields that each needs besides those of every event. */
export const EVENTS: { readonly [Action in HistoryAction]: Outcomes } = {
  acquire: PLAIN,
  enqueued: { info: [] },
  renew: { ...PLAIN, ok: ['deadline_ns'] },
  downgrade: { ...PLAIN, invoke: ['weight'] },
  release: PLAIN,
  lost: { info: [] },
  held: { ok: [], fail: [] },
  write: { ...PLAIN, ok: ['value'] },
  read: { ...PLAIN, ok: ['value'] },
  kill: { info: [] },
  truth: { info: ['owner', 'start_ns'] },
}
