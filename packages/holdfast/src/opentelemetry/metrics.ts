/** The instruments of OpenTelemetry, fed by measurements. */
import type {
  Attributes,
  Counter,
  Histogram,
  Meter,
  MeterProvider,
  Observable,
  ObservableResult,
} from '@opentelemetry/api'
import { LOSS_REASONS, LockMeter, type MeasurementSink } from '../telemetry/measure-locks.js'
import type { LockCounts } from '../telemetry/live-counts.js'
import {
  attributesOf,
  ELECTION_NAME,
  ERROR_TYPE,
  LOSS_REASON,
  OUTCOME,
  STORE_NAME,
} from './attributes.js'

export interface MetricOptions {
  /** The provider of now: a program may register one after it has begun to instrument. */
  readonly provider: () => MeterProvider
  readonly lockName: ((name: string) => string | undefined) | undefined
  readonly buckets: readonly number[]
}

/** Records metrics until the returned function is called. */
export function recordMetrics(options: MetricOptions): () => void {
  const instruments = new CurrentInstruments(options)
  const sink: MeasurementSink = {
    known(lock) {
      const { losses } = instruments.current()
      for (const reason of LOSS_REASONS)
        losses.add(0, { ...attributesOf(lock), [LOSS_REASON]: reason })
    },
    acquired(lock, outcome, seconds, errorType) {
      const error = errorType === undefined ? {} : { [ERROR_TYPE]: errorType }
      const attributes = { ...attributesOf(lock), [OUTCOME]: outcome, ...error }
      instruments.current().acquired.record(seconds, attributes)
    },
    held: (lock, outcome, seconds) =>
      instruments.current().held.record(seconds, { ...attributesOf(lock), [OUTCOME]: outcome }),
    lost: (lock, reason) =>
      instruments.current().losses.add(1, { ...attributesOf(lock), [LOSS_REASON]: reason }),
    renewed: (lock, outcome, seconds) =>
      instruments.current().renewed.record(seconds, { ...attributesOf(lock), [OUTCOME]: outcome }),
  }
  const meter = new LockMeter(sink, { lockName: options.lockName, isMeasured: () => true })
  instruments.start(meter)
  return () => {
    meter.stop()
    instruments.stop()
  }
}

/** The instruments of the present provider. */
class CurrentInstruments {
  readonly #options: MetricOptions
  #meter: LockMeter | undefined
  #provider: MeterProvider | undefined
  #instruments: Instruments | undefined

  constructor(options: MetricOptions) {
    this.#options = options
  }

  start(meter: LockMeter): void {
    this.#meter = meter
    this.current()
  }

  current(): Instruments {
    const provider = this.#options.provider()
    if (this.#instruments && provider === this.#provider) return this.#instruments
    this.#instruments?.stop()
    this.#provider = provider
    const { buckets } = this.#options
    this.#instruments = new Instruments(provider.getMeter('holdfast'), buckets, this.#meter)
    return this.#instruments
  }

  stop(): void {
    this.#instruments?.stop()
  }
}

type Observe = (result: ObservableResult) => void

class Instruments {
  readonly acquired: Histogram
  readonly held: Histogram
  readonly renewed: Histogram
  readonly losses: Counter
  readonly #observed: (readonly [Observable, Observe])[]

  constructor(meter: Meter, buckets: readonly number[], locks: LockMeter | undefined) {
    const advice = { explicitBucketBoundaries: [...buckets] }
    const histogram = (name: string, description: string): Histogram =>
      meter.createHistogram(name, { description, unit: 's', advice })
    this.acquired = histogram('holdfast.lock.acquire.duration', 'How long calls waited for a lock.')
    this.held = histogram('holdfast.lock.hold.duration', 'How long leases were held.')
    this.renewed = histogram('holdfast.lease.renewal.duration', 'How long renewals took.')
    this.losses = meter.createCounter('holdfast.lease.losses', {
      description: 'Leases that ended before their holder released them.',
      unit: '{lease}',
    })
    this.#observed = locks ? observables(meter, locks) : []
    for (const [observable, observe] of this.#observed) observable.addCallback(observe)
  }

  /** Removes the callbacks. Nothing is observed any more. */
  stop(): void {
    for (const [observable, observe] of this.#observed) observable.removeCallback(observe)
  }
}

function observeCounts(counts: LockCounts): Observe {
  return (result) => {
    for (const lock of counts.values()) result.observe(lock.count, attributesOf(lock))
  }
}

function observables(
  meter: Meter,
  { leases, waits, leaders }: LockMeter,
): (readonly [Observable, Observe])[] {
  const counter = (name: string, description: string, unit: string): Observable =>
    meter.createObservableUpDownCounter(name, { description, unit })
  const observeLeaders: Observe = (result) => {
    for (const { store, election, leading } of leaders.values()) {
      const attributes: Attributes = { [STORE_NAME]: store, [ELECTION_NAME]: election }
      result.observe(leading, attributes)
    }
  }
  return [
    [
      counter('holdfast.lease.active', 'Leases that are held now.', '{lease}'),
      observeCounts(leases.counts),
    ],
    [counter('holdfast.wait.active', 'Calls that wait now.', '{call}'), observeCounts(waits)],
    [
      meter.createObservableGauge('holdfast.election.leading', {
        description: 'Whether a candidate of this process leads: 1 or 0.',
      }),
      observeLeaders,
    ],
  ]
}
