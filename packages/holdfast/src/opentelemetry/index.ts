/**
 * `holdfast/opentelemetry`: spans and metrics of locks. Needs `@opentelemetry/api`, and records
 * with the SDK that the program sets up.
 */
import type { MeterProvider, TracerProvider } from '@opentelemetry/api'
import { LockUsageError } from '../errors.js'
import { describe } from '../options/describe.js'
import { checkKeys, type KnownKeys } from '../options/known-keys.js'
import { checkMeasurementOptions } from '../telemetry/options.js'
import { DEFAULT_BUCKETS } from '../telemetry/measure-locks.js'
import { loadApi } from './api.js'
import { recordMetrics } from './metrics.js'
import { recordSpans } from './spans.js'

/** A `TracerProvider` of OpenTelemetry. */
export interface TracerProviderLike {
  getTracer(name: string, version?: string): object
}

/** A `MeterProvider` of OpenTelemetry. */
export interface MeterProviderLike {
  getMeter(name: string, version?: string): object
}

/** The options of `instrumentHoldfast`. */
export interface InstrumentationOptions {
  /** Makes the spans. Default: the one that the program registers, also later. */
  readonly tracerProvider?: TracerProviderLike | undefined
  /** Makes the instruments. Default: the one that the program registers, also later. */
  readonly meterProvider?: MeterProviderLike | undefined
  /**
   * The attribute `holdfast.lock.name` of metrics; undefined leaves it out. Locks have many names,
   * so by default metrics have none. Spans have the full name in any case.
   */
  readonly lockName?: ((name: string) => string | undefined) | undefined
  /** The upper bounds of the buckets of histograms, in seconds, in ascending order. */
  readonly buckets?: readonly number[] | undefined
}

const KEYS: KnownKeys<InstrumentationOptions> = {
  tracerProvider: 1,
  meterProvider: 1,
  lockName: 1,
  buckets: 1,
}

const CALL = 'instrumentHoldfast'

/** The providers that record already. The API stands for those that the program registers. */
const recording = new Set<object>()

/**
 * Records spans and metrics of all clients of the process. Returns a function that stops it and
 * removes everything.
 * @throws LockUsageError when `@opentelemetry/api` is missing or too old, when an option makes no
 * sense, and when a provider records already.
 */
export function instrumentHoldfast(options: InstrumentationOptions = {}): () => void {
  checkKeys(CALL, options, KEYS)
  const { tracerProvider, meterProvider, lockName, buckets = DEFAULT_BUCKETS } = options
  checkProvider('tracerProvider', 'getTracer', tracerProvider)
  checkProvider('meterProvider', 'getMeter', meterProvider)
  checkMeasurementOptions(CALL, { lockName, buckets })
  const api = loadApi()
  const used = [tracerProvider ?? api.trace, meterProvider ?? api.metrics]
  if (used.some((provider) => recording.has(provider))) throw recordsAlready()
  for (const provider of used) recording.add(provider)
  const tracers = (): TracerProvider =>
    (tracerProvider as TracerProvider | undefined) ?? api.trace.getTracerProvider()
  const meters = (): MeterProvider =>
    (meterProvider as MeterProvider | undefined) ?? api.metrics.getMeterProvider()
  const stops = [recordSpans(api, tracers), recordMetrics({ provider: meters, lockName, buckets })]
  return () => {
    for (const stop of stops.splice(0)) stop()
    for (const provider of used.splice(0)) recording.delete(provider)
  }
}

function checkProvider(name: string, method: string, value: unknown): void {
  if (value === undefined) return
  if (typeof (value as Record<string, unknown> | null)?.[method] === 'function') return
  throw new LockUsageError(
    `${name} of ${CALL} must be a provider of OpenTelemetry with ${method}, not ${describe(value)}.`,
  )
}

function recordsAlready(): LockUsageError {
  return new LockUsageError(
    `${CALL} runs already with this provider, so each call would count twice. Call the function that it returned first.`,
  )
}
