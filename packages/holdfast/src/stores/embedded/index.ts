/**
 * `holdfast/embedded`: locks among the processes of one machine, kept in a SQLite file. Nothing to
 * install.
 */
import { resolve } from 'node:path'
import { checkKeys } from '../../options/known-keys.js'
import type { Store } from '../../store/contract.js'
import { withSource } from '../../store/source.js'
import { chooseFolder } from './folder/directory.js'
import { thisMachine } from './folder/machine.js'
import { EMBEDDED_KEYS, type EmbeddedStoreOptions } from './options.js'
import { EmbeddedStore } from './store.js'

export { defaultDirectory, SYSTEM_DIRECTORY } from './folder/directory.js'
export type { EmbeddedStoreOptions } from './options.js'

/**
 * Makes a store on this machine. The folder and the file are opened, and made, when the store is
 * first used.
 * @throws LockUsageError when the options make no sense or contradict each other.
 * @throws StoreUnavailableError (`STORE_CONFIG`) without a directory for a user who has no home
 * folder.
 */
export function embeddedStore(options: EmbeddedStoreOptions = {}): Store {
  checkKeys('embeddedStore', options, EMBEDDED_KEYS, { store: 'embedded' })
  const machine = options.machine ?? thisMachine()
  const store = new EmbeddedStore(chooseFolder(options, machine), machine)
  // The machine of a test has functions, which no other thread can have.
  if (options.machine) return store
  const { directory } = options
  const place = directory === undefined ? options : { directory: resolve(directory) }
  return withSource(store, { maker: 'embedded', options: { ...place } })
}
