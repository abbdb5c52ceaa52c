/** The errors of the modelled services, as the store reports them. */
import { StoreUnavailableError } from 'holdfast'

/** No answer came: what became of the request is unknown. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
}

export function unavailable(store: string, why: string): StoreUnavailableError {
  return new StoreUnavailableError(`The ${store} model gave no answer: ${why}.`, { store })
}
