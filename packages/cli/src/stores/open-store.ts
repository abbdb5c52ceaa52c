/** Opens the store of a command. */
import { embeddedStore } from 'holdfast/embedded'
import type { Store } from 'holdfast/store'
import { embeddedOptions, schemeOf } from 'holdfast/url'
import type { StoreLocation } from './locate.js'

export async function openStore({ url, modules }: StoreLocation): Promise<Store> {
  // `holdfast run` on the embedded store loads the code of no other store.
  if (schemeOf(url) === 'embedded') return embeddedStore(embeddedOptions(url))
  const { libraryFolder, openStore } = await import('../servers.js')
  const folder = libraryFolder(url, modules)
  return openStore(url, folder === undefined ? {} : { librariesOf: folder })
}
