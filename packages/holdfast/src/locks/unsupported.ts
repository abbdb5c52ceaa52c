import { UnsupportedLockError } from '../errors.js'
import type { Store } from '../store/contract.js'

/** Returns the error for what a store cannot do, such as `inspect`. */
export function unsupported(store: Store, what: string): UnsupportedLockError {
  return new UnsupportedLockError(`The ${store.name} store cannot ${what}.`, { store: store.name })
}
