/** Opens the store that a URL names. The code of a store is loaded only for its URL. */
import { describe } from '../options/describe.js'
import { checkKeys, type KnownKeys } from '../options/known-keys.js'
import { nearest } from '../options/nearest-word.js'
import { LockUsageError } from '../errors.js'
import { withSource } from '../store/source.js'
import { kindOf, STORE_KINDS, type StoreKind } from './store-kinds.js'
import type { OpenedStore } from './owned-store.js'
import { schemeOf } from './scheme.js'

/** The options of `openStore`. */
export interface OpenStoreOptions {
  /**
   * A folder: the client library of the store is looked up there first, then beside Holdfast.
   * Default: beside Holdfast only.
   */
  readonly librariesOf?: string | undefined
}

const KEYS: KnownKeys<OpenStoreOptions> = { librariesOf: 1 }

/**
 * Opens the store of a URL, such as `redis://user:password@host:6379/0`. Loads the client library
 * of that store only, and makes a client: closing the store, or the last `createLocks` client of
 * it, closes that too. The command line reads the same URLs.
 * @throws LockUsageError for a URL that makes no sense. No error shows a password.
 * @throws StoreUnavailableError (`STORE_CONFIG`) when the client library is not installed, or a
 * file of the URL cannot be read.
 */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<OpenedStore> {
  if (typeof url !== 'string') {
    throw new LockUsageError(
      `openStore needs a URL, such as process.env.HOLDFAST_STORE, not ${describe(url)}.`,
    )
  }
  checkKeys('openStore', options, KEYS)
  const { librariesOf } = options
  const store = await kindFor(schemeOf(url)).open(url, librariesOf)
  return withSource(store, { url, librariesOf })
}

function kindFor(scheme: string): StoreKind {
  const kind = kindOf(scheme)
  if (kind) return kind
  if (scheme === 'memory') {
    throw new LockUsageError(
      'A URL cannot name the memory store: its locks exist inside one process, so no other process can wait for them. ' +
        "Use memoryStore() of 'holdfast/memory'.",
    )
  }
  const known = STORE_KINDS.flatMap(({ schemes }) => schemes)
  const near = nearest(scheme, known)
  const hint = near === undefined ? '' : ` Did you mean ${near}:?`
  throw new LockUsageError(
    `There is no store for ${scheme}: URLs.${hint} Known: ${known.map((name) => `${name}:`).join(', ')}.`,
  )
}
