/** The services that can be down, with the ways to open a store there. */
import type { Store } from 'holdfast/store'
import { STORES, waysTo } from '@holdfast/stores'
import { closing } from '@holdfast/stores/closing'
import type { RunningService } from '@holdfast/stores/descriptor'
import { loadModule } from '@holdfast/stores/load'
import { isFull } from '../support/plan.js'

export interface OpenKit extends RunningService {
  /** Opens a store with a new client, without waiting for a connection. */
  open(): Promise<Store>
}

export interface Kit {
  readonly name: string
  start(): Promise<OpenKit>
}

/** Stores without a server have none that can be down. */
const SERVED = STORES.filter(({ torture }) => torture.servers > 0)

export const KITS: readonly Kit[] = SERVED.flatMap((store) =>
  waysTo(store, isFull() ? 'full' : 'daily'),
).map(({ title, store: { service }, library }) => ({
  name: title,
  async start() {
    const running = await service.start()
    return {
      ...running,
      async open() {
        const { store, end } = await service.open(running.at, { library, load: loadModule })
        return closing(store, end)
      },
    }
  },
}))
