/** `holdfast/url`: stores by URL, as the command line reads them. */
export { openStore } from './open-store.js'
export type { OpenStoreOptions } from './open-store.js'
export type { OpenedStore } from './owned-store.js'
