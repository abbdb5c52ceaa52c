/**
 * The server: one store behind a network. It handles what arrives in the order in which it arrives, unless it is paused
 * or down, and pushes wake-ups to those that subscribed.
 *
 * The store that it runs is a real one. Its verbs must answer at once: they are the atomic steps of the service.
 */
import type { Claim, PushedGrant, Store } from 'holdfast/store'
import type { Agenda } from '../world/agenda.js'
import type { MachineClock } from '../world/machine-clock.js'
import type { Truth } from './truth.js'

/** Makes the store that a server runs, with the clock of the server's machine. */
export type StoreModel = (clock: MachineClock) => Store<true>

/** What the server sends unasked. */
export type WakeSender = (grant: PushedGrant | undefined) => void

export class Server {
  readonly clock: MachineClock
  readonly truth: Truth
  readonly #agenda: Agenda
  readonly #model: StoreModel
  #store: Store<true>
  #state: 'runs' | 'stopped' | 'down' = 'runs'
  #backlog: (() => void)[] = []
  #subscriptions = new Map<string, () => void>()

  constructor(agenda: Agenda, clock: MachineClock, model: StoreModel, truth: Truth) {
    this.#agenda = agenda
    this.clock = clock
    this.#model = model
    this.#store = model(clock)
    this.truth = truth
  }

  get store(): Store<true> {
    return this.#store
  }

  get runs(): boolean {
    return this.#state === 'runs'
  }

  /** Whether connections are refused. */
  get down(): boolean {
    return this.#state === 'down'
  }

  /** A request has arrived. `handle` runs as one atomic step, now or when the server gets to it. */
  receive(handle: (store: Store<true>) => void): void {
    if (this.#state === 'stopped') this.#backlog.push(() => this.receive(handle))
    else if (this.#state === 'runs') handle(this.#store)
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

  stop(): void {
    if (this.#state === 'runs') this.#state = 'stopped'
  }

  resume(): void {
    if (this.#state !== 'stopped') return
    this.#state = 'runs'
    for (const handle of this.#backlog.splice(0)) this.#agenda.after(0, handle)
  }

  /** It dies: what it had not handled yet and all subscriptions are gone. */
  crash(): void {
    this.#state = 'down'
    this.#backlog = []
    for (const close of this.#subscriptions.values()) close()
    this.#subscriptions.clear()
  }

  /** It comes back with its data, or with none. */
  boot(keepsData: boolean): void {
    if (!keepsData) {
      this.#store = this.#model(this.clock)
      this.truth.forgetAll()
    }
    this.#state = 'runs'
  }
}
