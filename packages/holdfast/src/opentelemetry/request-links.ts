/**
 * Links the spans of callers whose claims one request carries to the span of its command.
 *
 * A request of several callers is sent in the async context of one of them, so its command belongs
 * to the trace of that caller. The other callers get a link to it.
 *
 * A tracer that uses tracing channels makes the span of a command the active one while the client
 * library sends. Then the link leads to this span. Otherwise it leads to the span under which the
 * command is sent, which is its parent.
 */
import { channel } from 'node:diagnostics_channel'
import type { Span, SpanContext } from '@opentelemetry/api'
import { requestChannel, type RequestTrace } from '../store/request-channel.js'
import { subscribe } from '../telemetry/measure-locks.js'
import type { Api } from './api.js'

/** The channels on which client libraries publish that they send a command. */
const COMMANDS = ['ioredis', 'node-redis'].map((library) =>
  channel(`tracing:${library}:command:start`),
)

/** A request that is being sent. */
interface SentRequest {
  readonly spans: readonly Span[]
  readonly parent: Span | undefined
  command: SpanContext | undefined
}

export class RequestLinks {
  readonly #api: Api
  /** The spans of calls without a link yet, by claim. */
  readonly #spans = new Map<string, Set<Span>>()
  readonly #claims = new Map<Span, string>()
  readonly #stop: () => void
  #request: SentRequest | undefined

  constructor(api: Api) {
    this.#api = api
    this.#stop = subscribe(requestChannel, {
      start: (message) => this.#begin(message as RequestTrace),
      end: () => this.#end(),
    })
  }

  stop(): void {
    this.#stop()
    this.#spans.clear()
    this.#claims.clear()
  }

  /** Adds a call whose claim waits to be sent. */
  add(claimId: string, span: Span): void {
    this.#claims.set(span, claimId)
    const spans = this.#spans.get(claimId)
    if (spans) spans.add(span)
    else this.#spans.set(claimId, new Set([span]))
  }

  delete(span: Span): void {
    const claimId = this.#claims.get(span)
    if (claimId === undefined) return
    this.#claims.delete(span)
    const spans = this.#spans.get(claimId)
    spans?.delete(span)
    if (spans?.size === 0) this.#spans.delete(claimId)
  }

  #begin({ claimIds }: RequestTrace): void {
    const parent = this.#api.trace.getActiveSpan()
    // The first request of a claim is the one that callers share. Later ones repeat it.
    const sent = claimIds.flatMap((claimId) => [...(this.#spans.get(claimId) ?? [])])
    for (const span of sent) this.delete(span)
    const spans = sent.filter((span) => !isSame(span, parent))
    if (spans.length === 0) return
    this.#request = { spans, parent, command: undefined }
    // A channel without another subscriber has no tracer, and stays unused.
    for (const start of COMMANDS) if (start.hasSubscribers) start.subscribe(this.#noteCommand)
  }

  readonly #noteCommand = (): void => {
    const request = this.#request
    if (!request || request.command) return
    const span = this.#api.trace.getActiveSpan()
    if (span && !isSame(span, request.parent)) request.command = span.spanContext()
  }

  #end(): void {
    const request = this.#request
    this.#request = undefined
    if (!request) return
    for (const start of COMMANDS) start.unsubscribe(this.#noteCommand)
    const context = request.command ?? request.parent?.spanContext()
    if (context) for (const span of request.spans) span.addLink({ context })
  }
}

function isSame(one: Span, other: Span | undefined): boolean {
  return one.spanContext().spanId === other?.spanContext().spanId
}
