/**
 * The machine of a server. It handles messages in the order in which they arrive. A stopped server
 * lets them wait, and a server that is down refuses them.
 */
import type { Agenda } from '../world/agenda.js'
import type { MachineClock } from '../world/machine-clock.js'

/** What becomes of the server's data when it dies and comes back. */
export interface Hosted {
  /** Connections and subscriptions are gone. */
  onCrash(): void
  onDataLoss(): void
  /** It runs again. */
  onBoot?(): void
  /** For a service with a replica: it has all that was written until now, and nothing later. */
  onCopy?(): void
  /** The replica takes over. */
  onFailover?(): void
}

export class Host {
  readonly clock: MachineClock
  readonly #agenda: Agenda
  readonly #hosted: Hosted
  #state: 'runs' | 'stopped' | 'down' = 'runs'
  #backlog: (() => void)[] = []

  constructor(agenda: Agenda, clock: MachineClock, hosted: Hosted) {
    this.#agenda = agenda
    this.clock = clock
    this.#hosted = hosted
  }

  get runs(): boolean {
    return this.#state === 'runs'
  }

  /** Whether connections are refused. */
  get down(): boolean {
    return this.#state === 'down'
  }

  /** A request has arrived. `handle` runs as one atomic step, now or when the server gets to it. */
  receive(handle: () => void): void {
    if (this.#state === 'stopped') this.#backlog.push(() => this.receive(handle))
    else if (this.#state === 'runs') handle()
  }

  stop(): void {
    if (this.#state === 'runs') this.#state = 'stopped'
  }

  resume(): void {
    if (this.#state !== 'stopped') return
    this.#state = 'runs'
    for (const handle of this.#backlog.splice(0)) this.#agenda.afterEvent(handle)
  }

  /** It dies: what it had not handled yet is gone. */
  crash(): void {
    this.#state = 'down'
    this.#backlog = []
    this.#hosted.onCrash()
  }

  loseData(): void {
    this.#hosted.onDataLoss()
  }

  boot(keepsData: boolean): void {
    if (!keepsData) this.loseData()
    this.#state = 'runs'
    this.#hosted.onBoot?.()
  }

  copy(): void {
    this.#hosted.onCopy?.()
  }

  /** The replica boots in its place, with what was copied last. */
  failOver(): void {
    this.#hosted.onFailover?.()
    this.#state = 'runs'
  }
}
