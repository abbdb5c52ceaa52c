/**
 * Measures what happens to locks, by their events and traces: the common part of the entries for
 * OpenTelemetry and Prometheus.
 */
import type { TracingChannel } from 'node:diagnostics_channel'
import { isLockError, type LossReason } from '../errors.js'
import type { LockEvent, LockEventName, LockEvents } from '../lease/runtime/events.js'
import { onLockEvent } from '../lease/runtime/listen-to-events.js'
import {
  traceChannels,
  type AcquireOutcome,
  type LockTrace,
  type LockTraceName,
  type LockTraces,
} from '../lease/runtime/traces.js'
import { Leaders, LockCounts, OpenLeases, type MeasuredLock } from './live-counts.js'

/** Why leases are lost. */
export const LOSS_REASONS: readonly LossReason[] = ['deadline', 'expired', 'stolen', 'max-hold']

/** Takes measurements. Durations are in seconds. */
export interface MeasurementSink {
  /**
   * Called before the first lease of a measured lock. Counters begin at zero here: Prometheus sees
   * no increase of one that begins at one.
   */
  known(lock: MeasuredLock): void
  /** @param errorType set for the outcome `error` */
  acquired(lock: MeasuredLock, outcome: AcquireOutcome, seconds: number, errorType?: string): void
  held(lock: MeasuredLock, outcome: 'released' | 'lost', seconds: number): void
  lost(lock: MeasuredLock, reason: LossReason): void
  renewed(lock: MeasuredLock, outcome: 'renewed' | 'lost' | 'unknown', seconds: number): void
}

export interface MeasurementOptions {
  /** The name of a lock in metrics; undefined leaves it out. */
  readonly lockName: ((name: string) => string | undefined) | undefined
  /** Which clients are measured. */
  readonly isMeasured: (clientId: string) => boolean
}

/** The buckets of waits: from a grant at once to minutes, in seconds. */
export const DEFAULT_BUCKETS: readonly number[] = [
  0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300,
]

/** Measures until `stop` is called. */
export class LockMeter {
  readonly waits = new LockCounts()
  readonly leases = new OpenLeases()
  readonly leaders = new Leaders()
  readonly #options: MeasurementOptions
  readonly #sink: MeasurementSink
  readonly #stops: (() => void)[] = []

  constructor(sink: MeasurementSink, options: MeasurementOptions) {
    this.#sink = sink
    this.#options = options
    this.#measureCalls()
    this.#measureLeases()
  }

  stop(): void {
    for (const stop of this.#stops.splice(0)) stop()
  }

  #measureCalls(): void {
    this.#time('acquire', {
      begun: (lock) => this.waits.add(lock, 1),
      ended: (lock, { outcome = 'error', error }, seconds) => {
        this.waits.add(lock, -1)
        const errorType = outcome === 'error' ? errorTypeOf(error) : undefined
        this.#sink.acquired(lock, outcome, seconds, errorType)
      },
    })
    this.#time('renew', {
      ended: (lock, { outcome = 'unknown' }, seconds) => this.#sink.renewed(lock, outcome, seconds),
    })
    this.#time('release', {
      // Whether it ended is unknown. This process holds it no more in any case.
      ended: (_, { claimId = '', outcome }) => {
        if (outcome === 'error') this.leases.end(claimId)
      },
    })
  }

  #measureLeases(): void {
    const begin = ({ claimId }: LockEvent, lock: MeasuredLock): void => {
      if (this.leases.begin(claimId, lock)) this.#sink.known(lock)
    }
    this.#on('granted', begin)
    this.#on('handed-off', begin)
    this.#on('exported', ({ claimId }) => this.leases.end(claimId))
    this.#on('lost', ({ claimId, reason, durationMs }, lock) => {
      this.leases.end(claimId)
      this.#sink.lost(lock, reason)
      this.#sink.held(lock, 'lost', durationMs / 1000)
    })
    this.#on('released', ({ claimId, outcome, durationMs }, lock) => {
      // A lease that was lost before has ended then.
      if (outcome === 'lost') return
      this.leases.end(claimId)
      this.#sink.held(lock, 'released', durationMs / 1000)
    })
    this.#on('election', ({ store, lock, claimId, change }) =>
      this.leaders.note(store, lock, claimId, change === 'elected'),
    )
  }

  #on<N extends Exclude<LockEventName, 'helper-lost'>>(
    name: N,
    measure: (event: LockEvents[N], lock: MeasuredLock) => void,
  ): void {
    const stop = onLockEvent(name, (event) => {
      if (this.#options.isMeasured(event.clientId)) measure(event, this.#measured(event))
    })
    this.#stops.push(stop)
  }

  /** Times the traces that start from now on. */
  #time<N extends LockTraceName>(
    name: N,
    handlers: {
      readonly begun?: (lock: MeasuredLock) => void
      readonly ended: (lock: MeasuredLock, trace: LockTraces[N], seconds: number) => void
    },
  ): void {
    const open = new WeakMap<object, { readonly lock: MeasuredLock; readonly startedMs: number }>()
    const start = (message: unknown): void => {
      const trace = message as LockTraces[N]
      if (!this.#options.isMeasured(trace.clientId)) return
      const lock = this.#measured(trace)
      open.set(trace, { lock, startedMs: performance.now() })
      handlers.begun?.(lock)
    }
    const asyncEnd = (message: unknown): void => {
      const trace = message as LockTraces[N]
      const begun = open.get(trace)
      if (begun) handlers.ended(begun.lock, trace, (performance.now() - begun.startedMs) / 1000)
    }
    this.#stops.push(subscribe(traceChannels[name], { start, asyncEnd }))
  }

  #measured({ store, kind, lock }: Pick<LockTrace, 'store' | 'kind' | 'lock'>): MeasuredLock {
    return { store, kind, lock: this.#options.lockName?.(lock) }
  }
}

/** Subscribes to some of the channels of a trace. Returns a function that unsubscribes. */
export function subscribe(
  channel: TracingChannel<unknown, object>,
  handlers: Partial<Record<'start' | 'end' | 'asyncEnd', (message: unknown) => void>>,
): () => void {
  const entries = Object.entries(handlers) as [keyof typeof handlers, (message: unknown) => void][]
  for (const [step, handler] of entries) channel[step].subscribe(handler)
  return () => {
    for (const [step, handler] of entries) channel[step].unsubscribe(handler)
  }
}

/** Returns the code of an error of Holdfast, and the name of any other error. */
export function errorTypeOf(error: unknown): string {
  if (isLockError(error)) return error.code
  return error instanceof Error ? error.name : typeof error
}
