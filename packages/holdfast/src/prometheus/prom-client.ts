/** `holdfastMetrics`: metrics in a registry of prom-client. */
import type * as promClient from 'prom-client'
import { LockUsageError } from '../errors.js'
import { describe } from '../options/describe.js'
import { checkKeys, type KnownKeys } from '../options/known-keys.js'
import type { LockCounts } from '../telemetry/live-counts.js'
import {
  DEFAULT_BUCKETS,
  LOSS_REASONS,
  LockMeter,
  type MeasurementSink,
} from '../telemetry/measure-locks.js'
import { checkMeasurementOptions } from '../telemetry/options.js'
import type { ExportOptions } from './export-prometheus.js'
import { checkPrefix, DEFAULT_PREFIX, labelsOf, METRICS, type MetricInfo } from './names.js'

type Prometheus = typeof promClient

/** A `Registry` of prom-client. */
export interface RegistryLike {
  registerMetric(metric: never): void
  removeSingleMetric(name: string): void
  getSingleMetric(name: string): unknown
}

/** The options of `holdfastMetrics`. */
export interface MetricsOptions extends ExportOptions {
  /** The registry of prom-client in which the metrics stand. Default: its global one. */
  readonly register?: RegistryLike | undefined
}

const KEYS: KnownKeys<MetricsOptions> = { register: 1, prefix: 1, lockName: 1, buckets: 1 }
const CALL = 'holdfastMetrics'

/**
 * Registers metrics of all clients of the process. Returns a function that stops measuring and
 * removes them from the registry.
 * @throws LockUsageError when prom-client is missing, when an option makes no sense, and when the
 * registry has metrics of these names already.
 */
export function holdfastMetrics(options: MetricsOptions = {}): () => void {
  checkKeys(CALL, options, KEYS)
  const { prefix = DEFAULT_PREFIX, lockName, buckets = DEFAULT_BUCKETS } = options
  checkPrefix(CALL, prefix)
  checkMeasurementOptions(CALL, { lockName, buckets })
  checkRegistry(options.register)
  const library = loadLibrary()
  const register = (options.register ?? library.register) as promClient.Registry
  const names = Object.values(METRICS).map(({ name }) => prefix + name)
  const taken = names.find((name) => register.getSingleMetric(name) !== undefined)
  if (taken !== undefined) throw alreadyRegistered(taken)
  const metrics = new RegisteredMetrics(library, { register, prefix, buckets, lockName })
  return () => {
    metrics.stop()
    for (const name of names) register.removeSingleMetric(name)
  }
}

interface Settings {
  readonly register: promClient.Registry
  readonly prefix: string
  readonly buckets: readonly number[]
  readonly lockName: ((name: string) => string | undefined) | undefined
}

class RegisteredMetrics {
  readonly #library: Prometheus
  readonly #settings: Settings
  readonly #meter: LockMeter

  constructor(library: Prometheus, settings: Settings) {
    this.#library = library
    this.#settings = settings
    const { lockName } = settings
    this.#meter = new LockMeter(this.#sink(), { lockName, isMeasured: () => true })
    this.#gauge(METRICS.leases, countsOf(this.#meter.leases.counts))
    this.#gauge(METRICS.waits, countsOf(this.#meter.waits))
    this.#gauge(METRICS.leading, () =>
      Array.from(this.#meter.leaders.values(), ({ store, election, leading }) => [
        { store, election },
        leading,
      ]),
    )
  }

  stop(): void {
    this.#meter.stop()
  }

  #sink(): MeasurementSink {
    const [acquired, held, renewed] = [METRICS.acquired, METRICS.held, METRICS.renewed].map(
      (info) => this.#histogram(info),
    ) as [Histogram, Histogram, Histogram]
    const losses = new this.#library.Counter(this.#configOf(METRICS.losses))
    return {
      known(lock) {
        for (const reason of LOSS_REASONS) losses.inc(labelsOf(lock, { reason }), 0)
      },
      acquired(lock, outcome, seconds, errorType) {
        const error = errorType === undefined ? {} : { error_type: errorType }
        acquired.observe(labelsOf(lock, { outcome, ...error }), seconds)
      },
      held: (lock, outcome, seconds) => held.observe(labelsOf(lock, { outcome }), seconds),
      lost: (lock, reason) => losses.inc(labelsOf(lock, { reason }), 1),
      renewed: (lock, outcome, seconds) => renewed.observe(labelsOf(lock, { outcome }), seconds),
    }
  }

  #histogram(info: MetricInfo): Histogram {
    const buckets = [...this.#settings.buckets]
    return new this.#library.Histogram({ ...this.#configOf(info), buckets })
  }

  /** Registers a gauge whose values are read when Prometheus asks for them. */
  #gauge(info: MetricInfo, read: () => Iterable<readonly [Labels, number]>): void {
    const gauge: promClient.Gauge = new this.#library.Gauge({
      ...this.#configOf(info),
      collect() {
        gauge.reset()
        for (const [labels, value] of read()) gauge.set(labels, value)
      },
    })
  }

  #configOf({ name, help, labels }: MetricInfo) {
    const { register, prefix, lockName } = this.#settings
    const labelNames = labels.filter((label) => lockName || label !== 'lock')
    return { name: prefix + name, help, labelNames, registers: [register] }
  }
}

type Histogram = promClient.Histogram
type Labels = Record<string, string>

function countsOf(counts: LockCounts): () => Iterable<readonly [Labels, number]> {
  return () => Array.from(counts.values(), (lock) => [labelsOf(lock), lock.count])
}

function loadLibrary(): Prometheus {
  try {
    return require('prom-client') as Prometheus
  } catch (cause) {
    throw new LockUsageError(
      `${CALL} needs the package prom-client, which is not installed. Run: npm install prom-client. Or use exportPrometheus, which needs none.`,
      { cause },
    )
  }
}

function checkRegistry(register: unknown): void {
  if (register === undefined) return
  const { registerMetric } = (register ?? {}) as Partial<RegistryLike>
  if (typeof registerMetric === 'function') return
  throw new LockUsageError(
    `register of ${CALL} must be a Registry of prom-client, not ${describe(register)}.`,
  )
}

function alreadyRegistered(name: string): LockUsageError {
  return new LockUsageError(
    `${CALL}: the registry has a metric ${name} already. Call the function that ${CALL} returned before, or choose another prefix.`,
  )
}
