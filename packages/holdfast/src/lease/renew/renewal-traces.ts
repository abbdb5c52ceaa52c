/** The traces of the renewals that one request carries. */
import type { RenewResult } from '../../store/contract.js'
import type { Grant } from '../grant/grant.js'
import type { Runtime } from '../runtime/runtime.js'
import { CallTrace, isTraced } from '../runtime/traces.js'

export class RenewalTraces {
  readonly #traces: readonly CallTrace<'renew'>[]

  constructor(runtime: Runtime, grants: readonly Grant[]) {
    this.#traces = grants.map(({ claim, token }) => {
      const { lock, kind, id: claimId } = claim
      return new CallTrace(runtime, 'renew', { lock, kind, claimId, token })
    })
  }

  /** Sends the request, with what subscribers have bound to the start of each trace. */
  enter<T>(send: () => T): T {
    return this.#traces.reduceRight((inner, trace) => () => trace.enter(inner), send)()
  }

  /** Notes the first result of a renewal. */
  settle(index: number, result: RenewResult): void {
    const trace = this.#traces[index]
    if (result.outcome === 'unknown') trace?.fail('unknown', result.cause)
    else trace?.settle(result.outcome)
  }
}

/** Returns traces for these renewals, if the channel has subscribers. */
export function renewalTraces(
  runtime: Runtime,
  grants: readonly Grant[],
): RenewalTraces | undefined {
  return isTraced.renew() ? new RenewalTraces(runtime, grants) : undefined
}
