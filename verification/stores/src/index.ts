/** The descriptors of all stores, found by listing their folder. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { StoreDescriptor } from './descriptor.js'
import { loadStore } from './load.js'

/** The sources, since a build leaves what was made of removed ones. */
const FOLDER = join(import.meta.dirname, '../src/kinds')
const names = readdirSync(FOLDER).flatMap((file) => /^([\w-]+)\.ts$/.exec(file)?.[1] ?? [])

/** All stores, in the order of lists. */
export const STORES: readonly StoreDescriptor[] = (await Promise.all(names.map(loadStore))).sort(
  (one, other) => one.order - other.order,
)

export const STORE_NAMES: readonly string[] = STORES.map(({ name }) => name)

/** A store, and one of the ways in which programs open it. */
export interface Way {
  readonly title: string
  readonly store: StoreDescriptor
  readonly library: string | undefined
}

/** Returns the ways through each client library, or the one without. */
export function waysTo(store: StoreDescriptor, plan: 'daily' | 'full'): Way[] {
  const { daily, others = [] } = store.service.libraries
  if (daily.length === 0) return [{ title: store.name, store, library: undefined }]
  return [...daily, ...(plan === 'full' ? others : [])].map((library) => ({
    title: `${store.name} through ${library}`,
    store,
    library,
  }))
}

/** @throws Error when there is no such store. */
export function storeOf(name: string): StoreDescriptor {
  const store = STORES.find((one) => one.name === name)
  if (store) return store
  throw new Error(`There is no store "${name}". Choose among: ${STORE_NAMES.join(', ')}.`)
}
