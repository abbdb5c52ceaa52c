/** Loads the API of OpenTelemetry, which the program brings along. */
import type * as api from '@opentelemetry/api'
import { LockUsageError } from '../errors.js'

export type Api = typeof api

/** @throws LockUsageError when the package is missing or too old. */
export function loadApi(): Api {
  let found: Api
  try {
    found = require('@opentelemetry/api') as Api
  } catch (cause) {
    throw setUpError('is not installed', cause)
  }
  // Links of a running span came with the same version as gauges, which are easier to look for.
  const { createNoopMeter } = found as Partial<Api>
  if (typeof createNoopMeter?.().createGauge !== 'function') throw setUpError('is too old')
  return found
}

function setUpError(what: string, cause?: unknown): LockUsageError {
  return new LockUsageError(
    `holdfast/opentelemetry needs @opentelemetry/api 1.9 or later, which ${what}. Run: npm install @opentelemetry/api`,
    { cause },
  )
}
