/** The SDK of OpenTelemetry, with everything in memory. */
import { context, trace, type Attributes, type Span } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  MeterProvider,
  MetricReader,
  type DataPoint,
  type Histogram,
} from '@opentelemetry/sdk-metrics'
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-node'
import { instrumentHoldfast, type InstrumentationOptions } from 'holdfast/opentelemetry'
import { onTestFinished } from 'vitest'

class MemoryReader extends MetricReader {
  protected onShutdown(): Promise<void> {
    return Promise.resolve()
  }

  protected onForceFlush(): Promise<void> {
    return Promise.resolve()
  }
}

/** A series of an instrument: its attributes and its value. */
export interface Series {
  readonly attributes: Attributes
  readonly value: unknown
}

export class Sdk {
  readonly #exporter = new InMemorySpanExporter()
  readonly #reader = new MemoryReader()
  readonly tracerProvider = new NodeTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(this.#exporter)],
  })
  readonly meterProvider = new MeterProvider({ readers: [this.#reader] })
  /** Stops the instrumentation. */
  readonly stop: () => void

  /** Instruments until the test ends. */
  constructor(options: InstrumentationOptions = {}) {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    const { tracerProvider, meterProvider } = this
    this.stop = instrumentHoldfast({ tracerProvider, meterProvider, ...options })
    onTestFinished(async () => {
      this.stop()
      context.disable()
      await Promise.all([tracerProvider.shutdown(), meterProvider.shutdown()])
    })
  }

  /** The spans that have ended, in the order of their ends. */
  get spans(): readonly ReadableSpan[] {
    return this.#exporter.getFinishedSpans()
  }

  /** Returns the span of this name, which has ended. */
  span(name: string): ReadableSpan {
    const found = this.spans.filter((span) => span.name === name)
    if (found.length === 1 && found[0]) return found[0]
    throw new Error(`${found.length} spans are called ${name}.`)
  }

  /** Runs `work` under a span of the program, which ends with it. */
  async within<T>(name: string, work: (span: Span) => Promise<T>): Promise<T> {
    return this.tracerProvider.getTracer('program').startActiveSpan(name, async (span) => {
      try {
        return await work(span)
      } finally {
        span.end()
      }
    })
  }

  /** Returns the series of each instrument that has any. */
  async metrics(): Promise<ReadonlyMap<string, readonly Series[]>> {
    const { resourceMetrics, errors } = await this.#reader.collect()
    if (errors.length > 0) throw new AggregateError(errors)
    const all = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics)
    return new Map(
      all
        .filter(({ dataPoints }) => dataPoints.length > 0)
        .map(({ descriptor, dataPoints }) => [
          descriptor.name,
          (dataPoints as readonly DataPoint<unknown>[]).map(({ attributes, value }) => ({
            attributes,
            value,
          })),
        ]),
    )
  }

  /** Returns the series of an instrument. */
  async series(name: string): Promise<readonly Series[]> {
    return (await this.metrics()).get(name) ?? []
  }
}

/** Returns how many durations a series has. */
export function countOf({ value }: Series): number {
  return (value as Histogram).count
}

/** Returns the id of the parent of a span. */
export function parentOf(span: ReadableSpan): string | undefined {
  return span.parentSpanContext?.spanId
}

/** Returns the ids of the spans to which a span links. */
export function linksOf(span: ReadableSpan): readonly string[] {
  return span.links.map(({ context: { spanId } }) => spanId)
}

/** Returns the span that is active now. */
export function activeSpan(): Span | undefined {
  return trace.getActiveSpan()
}
