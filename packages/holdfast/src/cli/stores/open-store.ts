/** Opens the store of a command. */
import { embeddedStore } from '../../stores/embedded/index.js'
import type { Store } from '../../store/index.js'
import { embeddedOptions } from '../../url/embedded.js'
import { schemeOf } from '../../url/scheme.js'
import type * as servers from '../servers.js'
import type { StoreLocation } from './locate.js'

export async function openStore({ url, modules }: StoreLocation): Promise<Store> {
  // `holdfast run` on the embedded store loads the code of no other store.
  if (schemeOf(url) === 'embedded') return embeddedStore(embeddedOptions(url))
  const { libraryFolder, openStore } = require('../servers.js') as typeof servers
  const folder = libraryFolder(url, modules)
  return openStore(url, folder === undefined ? {} : { librariesOf: folder })
}
