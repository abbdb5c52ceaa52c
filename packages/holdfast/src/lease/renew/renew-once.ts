import type { Claim, RenewResult } from '../../store/contract.js'
import { isPromise } from '../../store/maybe-promise.js'
import type { Runtime } from '../runtime/runtime.js'

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
  const failed = (): void => done()
  try {
    const answer = runtime.store.renew([claim])
    if (isPromise(answer)) answer.then(answered, failed)
    else answered(answer)
  } catch {
    failed()
  }
}
