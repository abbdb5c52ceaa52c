/**
 * The server of a store. It runs a real store, whose verbs are the atomic steps of the service, and
 * pushes wake-ups to subscribers.
 */
import type { Claim, Store } from 'holdfast/store'
import type { Agenda } from '../world/agenda.js'
import type { MachineClock } from '../world/machine-clock.js'
import { Host } from './host.js'
import { RemoteStore, type StoreServer, type WakeSender } from './remote-store.js'
import type { Access, Customer, Service } from './service.js'
import type { Truth } from './truth.js'

/**
 * Makes the store that a server runs, with the clock of the server's machine. Its verbs must answer
 * at once.
 */
export type StoreModel = (clock: MachineClock) => Store

export class Server implements Service, StoreServer {
  readonly host: Host
  readonly hosts: readonly Host[]
  readonly truth: Truth
  #store: Store
  readonly #subscriptions = new Map<string, () => void>()

  constructor(agenda: Agenda, clock: MachineClock, model: StoreModel, truth: Truth) {
    this.#store = model(clock)
    this.truth = truth
    this.host = new Host(agenda, clock, {
      onCrash: () => this.#disconnect(),
      onDataLoss: () => {
        this.#store = model(clock)
        truth.forgetAll()
      },
    })
    this.hosts = [this.host]
  }

  open(customer: Customer): Access {
    // Its messages get lost one by one; there is no connection that could break.
    return {
      store: new RemoteStore({ ...customer, link: customer.links[0], server: this }),
      reset: () => undefined,
    }
  }

  get store(): Store {
    return this.#store
  }

  subscribe(claim: Claim, send: WakeSender): void {
    this.unsubscribe(claim.id)
    const watch = this.#store.watch(claim, (grant) => send(grant))
    this.#subscriptions.set(claim.id, () => watch.close())
  }

  unsubscribe(claimId: string): void {
    this.#subscriptions.get(claimId)?.()
    this.#subscriptions.delete(claimId)
  }

  #disconnect(): void {
    for (const close of this.#subscriptions.values()) close()
    this.#subscriptions.clear()
  }
}
