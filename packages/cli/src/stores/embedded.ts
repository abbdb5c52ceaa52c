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
      `${url} has options, and the embedded store has none. Give the folder only.`,
    )
  }
  // embedded:///folder is what many would write.
  const path = rest.startsWith('file://') ? pathOf(rest) : rest.replace(/^\/{2,}/, '/')
  // The shared folder must be opened as such by all, whether they came by --system or by an
  // inherited URL.
  return resolve(path) === SYSTEM_DIRECTORY ? { system: true } : { directory: resolve(path) }
}

function pathOf(fileUrl: string): string {
  try {
    return fileURLToPath(fileUrl)
  } catch (error) {
    const reason =
      error instanceof URIError ? 'a % in it escapes nothing' : (error as Error).message
    throw new UsageError(
      `embedded:${fileUrl} names no folder of this machine: ${reason}. Write it as embedded:/folder.`,
    )
  }
}
