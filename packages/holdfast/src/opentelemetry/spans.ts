/** The spans of calls that acquire, and of callbacks under a lease. */
import type { Context, Span, Tracer, TracerProvider } from '@opentelemetry/api'
import { onLockEvent } from '../lease/runtime/listen-to-events.js'
import {
  addTraceScope,
  traceChannels,
  type LockTrace,
  type LockTraceName,
  type TraceScope,
} from '../lease/runtime/traces.js'
import { errorTypeOf, subscribe } from '../telemetry/measure-locks.js'
import type { Api } from './api.js'
import {
  CLAIM_ID,
  ERROR_TYPE,
  LEASE_TOKEN,
  LOCK_KIND,
  LOCK_NAME,
  LOSS_REASON,
  OUTCOME,
  STORE_NAME,
} from './attributes.js'
import { RequestLinks } from './request-links.js'

/** Outcomes that are a failure of the call. The others are answers. */
const FAILURES: readonly (string | undefined)[] = ['error', 'timeout']

/** Makes spans until the returned function is called. */
export function recordSpans(api: Api, provider: () => TracerProvider): () => void {
  const spans = new LockSpans(api, () => provider().getTracer('holdfast'))
  return () => spans.stop()
}

class LockSpans {
  readonly #api: Api
  readonly #tracer: () => Tracer
  readonly #open = new Map<object, Span>()
  /** The spans of callbacks, by the claims of their leases. */
  readonly #holds = new Map<string, Set<Span>>()
  readonly #links: RequestLinks
  readonly #stops: readonly (() => void)[]

  constructor(api: Api, tracer: () => Tracer) {
    this.#api = api
    this.#tracer = tracer
    this.#links = new RequestLinks(api)
    const ended = (message: unknown): void => this.#end(message as LockTrace)
    this.#stops = [
      addTraceScope(this.#inSpan),
      subscribe(traceChannels.acquire, { end: (trace) => this.#noteSent(trace), asyncEnd: ended }),
      subscribe(traceChannels.run, { asyncEnd: ended }),
      onLockEvent('lost', ({ claimId, reason }) => {
        for (const span of this.#holds.get(claimId) ?? [])
          span.addEvent('holdfast.lease.lost', { [LOSS_REASON]: reason })
      }),
    ]
  }

  /** Ends the spans that are open: what ends them is not heard any more. */
  stop(): void {
    for (const stop of this.#stops) stop()
    this.#links.stop()
    for (const span of this.#open.values()) span.end()
    this.#open.clear()
    this.#holds.clear()
  }

  /** Runs a part of a call with its span as the active one. */
  readonly #inSpan: TraceScope = (name, trace, work) => {
    const context = this.#begin(name, trace)
    return context ? this.#api.context.with(context, work) : work()
  }

  #begin(name: LockTraceName, trace: LockTrace): Context | undefined {
    if (name !== 'acquire' && name !== 'run') return undefined
    const { SpanKind, context, trace: traceApi } = this.#api
    const { lock, kind, store } = trace
    const attributes = { [LOCK_NAME]: lock, [LOCK_KIND]: kind, [STORE_NAME]: store }
    const [verb, spanKind] =
      name === 'acquire' ? ['acquire', SpanKind.CLIENT] : ['hold', SpanKind.INTERNAL]
    const span = this.#tracer().startSpan(`${verb} ${lock}`, { kind: spanKind, attributes })
    this.#open.set(trace, span)
    if (name === 'run') this.#noteHold(trace, span)
    return traceApi.setSpan(context.active(), span)
  }

  #noteHold({ claimId = '' }: LockTrace, span: Span): void {
    const spans = this.#holds.get(claimId)
    if (spans) spans.add(span)
    else this.#holds.set(claimId, new Set([span]))
  }

  #noteSent(message: unknown): void {
    const { claimId } = message as LockTrace
    const span = this.#open.get(message as object)
    if (span && claimId !== undefined) this.#links.add(claimId, span)
  }

  #end(trace: LockTrace): void {
    const span = this.#open.get(trace)
    if (!span) return
    this.#open.delete(trace)
    this.#links.delete(span)
    const { claimId, token, outcome, error } = trace
    if (claimId !== undefined) {
      span.setAttribute(CLAIM_ID, claimId)
      const holds = this.#holds.get(claimId)
      if (holds?.delete(span) === true && holds.size === 0) this.#holds.delete(claimId)
    }
    if (token !== undefined) span.setAttribute(LEASE_TOKEN, String(token))
    if (outcome !== undefined) span.setAttribute(OUTCOME, outcome)
    if (error !== undefined && FAILURES.includes(outcome)) this.#noteError(span, error)
    span.end()
  }

  #noteError(span: Span, error: unknown): void {
    const { ERROR: code } = this.#api.SpanStatusCode
    span.setAttribute(ERROR_TYPE, errorTypeOf(error))
    if (!(error instanceof Error)) span.setStatus({ code })
    else {
      span.recordException(error)
      span.setStatus({ code, message: error.message })
    }
  }
}
