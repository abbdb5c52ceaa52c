import type { Claim, RenewResult } from '../store/contract.js'
import { isPromise } from '../store/maybe-promise.js'
import type { Runtime } from './runtime.js'

/**
 * Renews a claim that is not a lease yet.
 * @param done called once; without an outcome when the store did not say
 */
export function renewOnce(
  runtime: Runtime,
  claim: Claim,
  done: (outcome?: RenewResult['outcome']) => void,
): void {
  const answered = (results: readonly RenewResult[]): void => done(results[0]?.outcome)
  try {
    const answer = runtime.store.renew([claim])
    const verb = 'the renewal'
    if (isPromise(answer))
      runtime.whenAnswered(answer, { lock: claim.lock, verb }, answered, () => done())
    else answered(answer)
  } catch {
    done()
  }
}
