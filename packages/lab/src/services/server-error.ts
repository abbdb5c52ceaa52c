import { StoreUnavailableError } from 'holdfast'
import { say, type Said } from '../text/said.js'

const CODES = {
  notStarted: 'STORE_CONFIG',
  died: 'STORE_UNAVAILABLE',
  diedSilently: 'STORE_UNAVAILABLE',
} as const

/** A server of the lab did not start, or ended by itself. */
export class LabServerError extends StoreUnavailableError implements Said {
  declare readonly code: (typeof CODES)[keyof typeof CODES]

  constructor(
    readonly key: keyof typeof CODES,
    readonly values: Said['values'],
    cause?: unknown,
  ) {
    super(say('en', { key, values }), { code: CODES[key], cause })
  }
}
