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
    throw new UsageError(`${url} has options, and the embedded store has none. Give the folder only.`)
  }
  // embedded:///folder is what many would write.
  const path = rest.startsWith('file://') ? fileURLToPath(rest) : rest.replace(/^\/{2,}/, '/')
  // The shared folder must be opened as such by all, whether they came by --system or by an inherited URL.
  return resolve(path) === SYSTEM_DIRECTORY ? { system: true } : { directory: resolve(path) }
}
