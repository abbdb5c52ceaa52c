/**
 * The trace of a request that carries claims: which calls travel together. Published while a store
 * sends, so that a tracer can tell which command of the client library carries a claim.
 */
import { tracingChannel, type TracingChannel } from 'node:diagnostics_channel'
import { detached, startWithoutValue } from '../async/async-context.js'

/** The context of `holdfast:request`, which has `start` and `end`. */
export interface RequestTrace {
  /** The claims of the request: attempts, renewals and withdrawals. */
  readonly claimIds: readonly string[]
}

export const requestChannel: TracingChannel<unknown, object> = tracingChannel('holdfast:request')

/** Whether the channel has subscribers. Bun's tracing channels have no `hasSubscribers`. */
export function areRequestsTraced(): boolean {
  return requestChannel.start.hasSubscribers || requestChannel.end.hasSubscribers
}

/** Sends a request, and publishes its start and end. Call it if the channel has subscribers. */
export function traceRequest<T>(claimIds: readonly string[], send: () => T): T {
  const { start, end } = requestChannel
  const context: RequestTrace = { claimIds }
  try {
    return startWithoutValue((inside) => start.runStores(context, inside, undefined), send)
  } finally {
    detached(() => end.publish(context))
  }
}
