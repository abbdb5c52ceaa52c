/** `embedded:` URLs: one machine, no server. */
import type { Store } from 'holdfast/store'
import { ensureFolder, folderOf } from './folder.js'

export async function open(url: string): Promise<Store> {
  const folder = folderOf(url)
  ensureFolder(folder)
  const name = 'holdfast/embedded'
  const { embeddedStore } = (await import(name)) as { embeddedStore: (options: { folder: string }) => Store }
  return embeddedStore({ folder })
}
