/** The options of a store on this machine. */
import type { KnownKeys } from '../../options/known-keys.js'
import type { Machine } from './folder/machine.js'

/** Where the state of an embedded store is kept. */
export interface EmbeddedStoreOptions {
  /**
   * The folder of the state. Programs that are to exclude each other must use the same one.
   * Default: the user's own.
   */
  readonly directory?: string | undefined
  /** One folder for all users of this machine, `/var/lib/holdfast`, made by root. Default false. */
  readonly system?: boolean | undefined
  /** @internal The machine, for tests of boots and clocks. */
  readonly machine?: Machine | undefined
}

/** All of them, for the check of a call. */
export const EMBEDDED_KEYS: KnownKeys<EmbeddedStoreOptions> = {
  directory: 1,
  system: 1,
  machine: 1,
}
