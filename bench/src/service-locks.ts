/** Locks over a server that a suite has started. */
import { loadModule, loadStore } from '@holdfast/stores/load'
import { createLocks, type Locks, type LocksOptions } from 'holdfast'

/** Opens the locks of a store, through the first of its client libraries. */
export async function openLocks(
  name: string,
  address: string,
  options: LocksOptions = {},
): Promise<Locks> {
  const { service } = await loadStore(name)
  const at = address.split(',')
  const { store } = await service.open(at, {
    library: service.libraries.daily[0],
    load: loadModule,
  })
  return createLocks(store, options)
}
