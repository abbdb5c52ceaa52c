/** `embedded:` URLs: one machine, no server. */
import { SYSTEM_DIRECTORY } from '../stores/embedded/folder/directory.js'
import type { EmbeddedStoreOptions } from '../stores/embedded/index.js'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { LockUsageError } from '../errors.js'

/**
 * Returns the options of `embeddedStore` that a URL says: `embedded:`, `embedded:/folder`,
 * `embedded:folder` or `embedded:file:///folder`.
 * @throws LockUsageError for a URL that makes no sense.
 */
export function embeddedOptions(url: string): EmbeddedStoreOptions {
  const rest = url.slice(url.indexOf(':') + 1)
  if (rest === '') return {}
  if (/[?#]/.test(rest)) {
    throw new LockUsageError(
      `${url} has options, and the embedded store takes none. Write only the folder.`,
    )
  }
  if (rest.startsWith('~')) {
    throw new LockUsageError(
      `${url} is not in a home folder: no shell replaces the ~ there. Write embedded:$HOME/… or, for a folder of that name, embedded:./~.`,
    )
  }
  // Users often write embedded:///folder.
  const path = rest.startsWith('file://') ? pathOf(rest) : rest.replace(/^\/{2,}/, '/')
  // Every process must open the shared folder as shared, with --system as with an inherited URL.
  return resolve(path) === SYSTEM_DIRECTORY ? { system: true } : { directory: resolve(path) }
}

function pathOf(fileUrl: string): string {
  try {
    return fileURLToPath(fileUrl)
  } catch (error) {
    const reason =
      error instanceof URIError ? 'a % in it starts no escape' : (error as Error).message
    throw new LockUsageError(
      `embedded:${fileUrl} names no folder of this machine: ${reason}. Write it as embedded:/folder.`,
    )
  }
}
