/** `embedded:` URLs: one machine, no server. */
import { embeddedStore, SYSTEM_DIRECTORY, type EmbeddedStoreOptions } from 'holdfast/embedded'
import type { Store } from 'holdfast/store'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../cli-error.js'

export function open(url: string): Store {
  return embeddedStore(embeddedOptions(url))
}

/** Reads `embedded:`, `embedded:/folder`, `embedded:folder` or `embedded:file:///folder`. */
export function embeddedOptions(url: string): EmbeddedStoreOptions {
  const rest = url.slice(url.indexOf(':') + 1)
  if (rest === '') return {}
  if (/[?#]/.test(rest)) {
    throw new UsageError(
      `${url} has options, and the embedded store takes none. Write only the folder.`,
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
    throw new UsageError(
      `embedded:${fileUrl} names no folder of this machine: ${reason}. Write it as embedded:/folder.`,
    )
  }
}
