/** Opens the store of a command. */
import { embeddedStore } from 'holdfast/embedded'
import type { Store } from 'holdfast/store'
import { embeddedOptions, schemeOf } from 'holdfast/url'

export async function openStore(url: string): Promise<Store> {
  // `holdfast run` on the embedded store loads the code of no other store.
  if (schemeOf(url) === 'embedded') return embeddedStore(embeddedOptions(url))
  const { openStore } = await import('../servers.js')
  return openStore(url, { librariesOf: process.cwd() })
}
