/** `exportPrometheus`: metrics as text, without a library. */
import { LockUsageError, type LossReason } from '../errors.js'
import type { AcquireOutcome } from '../lease/runtime/traces.js'
import type { Locks } from '../locks/create.js'
import { describe } from '../options/describe.js'
import { checkKeys, type KnownKeys } from '../options/known-keys.js'
import type { Leaders, LockCounts, MeasuredLock } from '../telemetry/live-counts.js'
import {
  DEFAULT_BUCKETS,
  LOSS_REASONS,
  LockMeter,
  type MeasurementSink,
} from '../telemetry/measure-locks.js'
import { checkMeasurementOptions } from '../telemetry/options.js'
import { checkPrefix, DEFAULT_PREFIX, labelsOf, METRICS } from './names.js'
import {
  CONTENT_TYPE,
  LabelledCounter,
  LabelledHistogram,
  metricText,
  sample,
} from './text-format.js'

/** The options of `exportPrometheus`. */
export interface ExportOptions {
  /** Stands before each name. Default `holdfast_`. */
  readonly prefix?: string | undefined
  /**
   * The label `lock`; undefined leaves it out. Locks have many names, so by default there is none.
   */
  readonly lockName?: ((name: string) => string | undefined) | undefined
  /** The upper bounds of the buckets of histograms, in seconds, in ascending order. */
  readonly buckets?: readonly number[] | undefined
}

/** The metrics of some clients since the call of `exportPrometheus`. */
export interface PrometheusExport {
  /** The value of the header `Content-Type`. */
  readonly contentType: string
  /** Returns the metrics of now, in the text format of Prometheus. */
  text(): string
  /** Measures no more, and forgets what was measured. */
  stop(): void
}

const KEYS: KnownKeys<ExportOptions> = { prefix: 1, lockName: 1, buckets: 1 }
const CALL = 'exportPrometheus'

/**
 * Measures these clients from now on, for a route that Prometheus scrapes.
 * @throws LockUsageError when an argument makes no sense.
 */
export function exportPrometheus(
  locks: Locks | readonly Locks[],
  options: ExportOptions = {},
): PrometheusExport {
  checkKeys(CALL, options, KEYS)
  const { prefix = DEFAULT_PREFIX, lockName, buckets = DEFAULT_BUCKETS } = options
  checkPrefix(CALL, prefix)
  checkMeasurementOptions(CALL, { lockName, buckets })
  const clients = clientIdsOf(locks)
  const metrics = new TextMetrics(buckets)
  const isMeasured = (clientId: string): boolean => clients.has(clientId)
  let meter: LockMeter | undefined = new LockMeter(metrics, { lockName, isMeasured })
  return {
    contentType: CONTENT_TYPE,
    text: () => (meter ? metrics.text(prefix, meter) : ''),
    stop() {
      meter?.stop()
      meter = undefined
    },
  }
}

function clientIdsOf(locks: Locks | readonly Locks[]): Set<string> {
  const clients = (Array.isArray(locks) ? locks : [locks]) as readonly Partial<Locks>[]
  return new Set(
    clients.map((client) => {
      if (typeof client?.clientId === 'string') return client.clientId
      throw new LockUsageError(
        `${CALL} takes what createLocks returned, or an array of it, not ${describe(client)}.`,
      )
    }),
  )
}

/** Keeps the measurements, and writes them. */
class TextMetrics implements MeasurementSink {
  readonly #acquired: LabelledHistogram
  readonly #held: LabelledHistogram
  readonly #renewed: LabelledHistogram
  readonly #losses = new LabelledCounter()

  constructor(buckets: readonly number[]) {
    this.#acquired = new LabelledHistogram(buckets)
    this.#held = new LabelledHistogram(buckets)
    this.#renewed = new LabelledHistogram(buckets)
  }

  known(lock: MeasuredLock): void {
    for (const reason of LOSS_REASONS) this.#losses.add(labelsOf(lock, { reason }), 0)
  }

  acquired(lock: MeasuredLock, outcome: AcquireOutcome, seconds: number, errorType?: string): void {
    const error = errorType === undefined ? {} : { error_type: errorType }
    this.#acquired.observe(labelsOf(lock, { outcome, ...error }), seconds)
  }

  held(lock: MeasuredLock, outcome: string, seconds: number): void {
    this.#held.observe(labelsOf(lock, { outcome }), seconds)
  }

  lost(lock: MeasuredLock, reason: LossReason): void {
    this.#losses.add(labelsOf(lock, { reason }), 1)
  }

  renewed(lock: MeasuredLock, outcome: string, seconds: number): void {
    this.#renewed.observe(labelsOf(lock, { outcome }), seconds)
  }

  text(prefix: string, { leases, waits, leaders }: LockMeter): string {
    const { acquired, held, renewed, losses, leading } = METRICS
    return [
      metricText(prefix, 'histogram', acquired, (name) => this.#acquired.samples(name)),
      metricText(prefix, 'histogram', held, (name) => this.#held.samples(name)),
      metricText(prefix, 'histogram', renewed, (name) => this.#renewed.samples(name)),
      metricText(prefix, 'counter', losses, (name) => this.#losses.samples(name)),
      metricText(prefix, 'gauge', METRICS.leases, (name) => countSamples(name, leases.counts)),
      metricText(prefix, 'gauge', METRICS.waits, (name) => countSamples(name, waits)),
      metricText(prefix, 'gauge', leading, (name) => leaderSamples(name, leaders)),
    ].join('')
  }
}

function countSamples(name: string, counts: LockCounts): string[] {
  return Array.from(counts.values(), (lock) => sample(name, labelsOf(lock), lock.count))
}

function leaderSamples(name: string, leaders: Leaders): string[] {
  return Array.from(leaders.values(), ({ store, election, leading }) =>
    sample(name, { store, election }, leading),
  )
}
