/** Loads one store alone, as a process does that uses one. */
import type { LoadModule, StoreDescriptor } from './descriptor.js'

/** @throws Error when the module and its descriptor have different names. */
export async function loadStore(name: string): Promise<StoreDescriptor> {
  const { store } = (await import(`./kinds/${name}.js`)) as { store: StoreDescriptor }
  if (store.name === name) return store
  throw new Error(`The descriptor in kinds/${name} has the name ${store.name}.`)
}

/** Loads a store's module of the library of this repository. */
export const loadModule: LoadModule = async <Module>(name: string) =>
  (await import(`holdfast/${name}`)) as Module
