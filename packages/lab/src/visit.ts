/** One visit to the lab: the servers that it starts, and everything else that has to be gone afterwards. */
import type { ServiceName } from './services/catalogue.js'
import { Services } from './services/services.js'

export type Keep = (end: () => Promise<void>) => void

export class Visit {
  readonly services: Services
  readonly #ends: (() => Promise<void>)[] = []
  #ending: Promise<void> | undefined

  constructor(allowed: (name: ServiceName) => boolean) {
    this.services = new Services(allowed)
  }

  /** Remembers what has to be called at the end, however it comes. It may be called after it has ended by itself. */
  readonly keep: Keep = (end) => {
    this.#ends.push(end)
    // The visitor has left meanwhile.
    if (this.#ending) void end()
  }

  end(): Promise<void> {
    return (this.#ending ??= this.#end())
  }

  async #end(): Promise<void> {
    await Promise.allSettled(this.#ends.map((end) => end()))
    await this.services.stop()
  }
}
