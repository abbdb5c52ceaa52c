/** Loads the descriptor of one store alone, as a process does that uses one. */
import type { StoreDescriptor } from './descriptor.js'

/** @throws Error when the module and its descriptor have different names. */
export async function loadStore(name: string): Promise<StoreDescriptor> {
  const { store } = (await import(`./kinds/${name}.js`)) as { store: StoreDescriptor }
  if (store.name === name) return store
  throw new Error(`The descriptor in kinds/${name} has the name ${store.name}.`)
}
