import { StoreUnavailableError } from '../errors.js'

/** Returns the error for what a URL needs on this machine and does not find (`STORE_CONFIG`). */
export function settingsError(
  message: string,
  details: { readonly cause?: unknown } = {},
): StoreUnavailableError {
  return new StoreUnavailableError(message, { ...details, code: 'STORE_CONFIG' })
}
