/** Opens the store of a client once more, for another thread. */
import { pathToFileURL } from 'node:url'
import { LockUsageError } from '../errors.js'
import type { Store } from '../store/contract.js'
import type { StoreSource } from '../store/source.js'
import type * as embedded from '../stores/embedded/index.js'
import type * as redis from '../stores/redis/index.js'
import { openStore } from '../url/open-store.js'

/** @throws LockUsageError when the module exports no store. Otherwise as its maker does. */
export async function openSource(source: StoreSource): Promise<Store> {
  if ('url' in source) return openStore(source.url, { librariesOf: source.librariesOf })
  if ('module' in source) return importStore(source.module)
  if (source.maker === 'redis') {
    const { redisStore } = require('../stores/redis/index.js') as typeof redis
    return redisStore(source.options)
  }
  const { embeddedStore } = require('../stores/embedded/index.js') as typeof embedded
  return embeddedStore(source.options)
}

/** Imports a module, whose default export is a store or a function that returns one. */
async function importStore(module: string): Promise<Store> {
  const location = /^file:/i.test(module) ? module : pathToFileURL(module).href
  const { default: found } = (await import(location)) as { readonly default?: unknown }
  // A CommonJS module with `exports.default` comes as the default of its namespace.
  const made: unknown = typeof found === 'function' ? await (found as () => unknown)() : found
  if (typeof (made as Partial<Store> | undefined)?.renew === 'function') return made as Store
  throw new LockUsageError(
    `The default export of ${module} is no store, and no function that returns one. renewFrom: 'worker' needs that of workerStore.`,
  )
}
