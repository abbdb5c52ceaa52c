/** The scheme of a store's URL, which says what kind of store it is. */
import { LockUsageError } from '../errors.js'
import { shownUrl } from './secrets.js'

/** Returns the scheme of a URL, in lower case and without the colon. */
export function schemeOf(url: string): string {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]
  if (scheme !== undefined) return scheme.toLowerCase()
  throw new LockUsageError(
    `The store ${JSON.stringify(shownUrl(url))} is no URL. Write one such as embedded:/var/lib/locks.`,
  )
}
