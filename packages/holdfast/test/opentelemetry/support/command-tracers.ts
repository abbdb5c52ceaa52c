/** Two ways to make spans of the commands of ioredis. */
import { tracingChannel } from 'node:diagnostics_channel'
import type { AsyncLocalStorage } from 'node:async_hooks'
import { context, SpanKind, trace, type Context, type Span, type Tracer } from '@opentelemetry/api'
import { IORedisInstrumentation } from '@opentelemetry/instrumentation-ioredis'
import * as ioredis from 'ioredis6'
import { onTestFinished } from 'vitest'
import type { Sdk } from './sdk.js'

/** Traces the commands of the test. */
export type CommandTracer = (sdk: Sdk) => void

/** By the tracing channel of ioredis, as tracers do that bind the context of OpenTelemetry. */
export const channelTracer: CommandTracer = ({ tracerProvider }) => {
  const tracer: Tracer = tracerProvider.getTracer('channels')
  const spans = new WeakMap<object, Span>()
  const { start, asyncEnd } = tracingChannel<Context, object>('ioredis:command')
  const begin = (command: object): Context => {
    const { command: name } = command as { readonly command: string }
    const span = tracer.startSpan(name, { kind: SpanKind.CLIENT })
    spans.set(command, span)
    return trace.setSpan(context.active(), span)
  }
  const end = (command: unknown): void => spans.get(command as object)?.end()
  const storage = storageOfContexts()
  start.bindStore(storage, begin)
  asyncEnd.subscribe(end)
  onTestFinished(() => {
    start.unbindStore(storage)
    asyncEnd.unsubscribe(end)
  })
}

/** By the instrumentation of OpenTelemetry, which replaces `sendCommand`. */
export const patchTracer: CommandTracer = ({ tracerProvider }) => {
  const instrumentation = new IORedisInstrumentation({ requireParentSpan: false })
  instrumentation.setTracerProvider(tracerProvider)
  // It looks for a module called ioredis, and this one is called otherwise.
  const { init } = instrumentation as unknown as {
    init(): readonly {
      patch(library: object, version: string): void
      unpatch(library: object): void
    }[]
  }
  const [definition] = init.call(instrumentation)
  definition?.patch(ioredis, '6.0.0')
  onTestFinished(() => definition?.unpatch(ioredis))
}

/** The API has no public way to it. */
function storageOfContexts(): AsyncLocalStorage<Context> {
  const find = Reflect.get(context, '_getContextManager') as () => object
  return Reflect.get(find.call(context), '_asyncLocalStorage') as AsyncLocalStorage<Context>
}
