/**
 * `holdfast/embedded`: locks among the processes of one machine. The store keeps locks by name in a
 * folder of the user or of the machine. `lockPath` locks a file or folder, with its state beside
 * that.
 */
export { defaultDirectory, embeddedStore, SYSTEM_DIRECTORY } from '../stores/embedded/index.js'
export type { EmbeddedStoreOptions } from '../stores/embedded/index.js'
export { lockPath } from './lock-path.js'
export type { PathLock } from './lock-path.js'
