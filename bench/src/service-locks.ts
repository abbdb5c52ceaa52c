/** Locks over a server that a suite has started. */
import { loadModule, loadStore } from '@holdfast/stores/load'
import { createLocks, type Locks, type LocksOptions } from 'holdfast'

/** @param name of a store that needs no client library */
export async function openLocks(
  name: string,
  address: string,
  options: LocksOptions = {},
): Promise<Locks> {
  const { service } = await loadStore(name)
  const at = address.split(',')
  const { store } = await service.open(at, { library: undefined, load: loadModule })
  return createLocks(store, options)
}
