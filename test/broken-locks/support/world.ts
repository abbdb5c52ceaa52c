/**
 * A server and some clients of one lock, in virtual time, with the history of what they believed.
 */
import type { Control } from '@holdfast/broken-locks'
import { checkHistory, type HistoryEvent } from '@holdfast/conformance'
import { VirtualClock } from 'holdfast/testing'
import { Client } from './client.js'
import { Server } from './server.js'

export class World {
  readonly clock = new VirtualClock()
  readonly server = new Server(this.clock)
  readonly history: HistoryEvent[] = []
  readonly #create: Control['create']
  readonly #ttlMs: number
  #clients = 0

  constructor(create: Control['create'], ttlMs = 1000) {
    this.#create = create
    this.#ttlMs = ttlMs
  }

  /** Bound, for scenarios take it out of the world. */
  readonly client = (): Client => {
    this.#clients += 1
    return new Client({
      name: `client-${this.#clients}`,
      seed: this.#clients,
      server: this.server,
      clock: this.clock,
      create: this.#create,
      history: this.history,
      ttlMs: this.#ttlMs,
    })
  }

  /** What the checkers of the history say, by property. */
  violations(): string[] {
    return [...new Set(checkHistory(this.history).map(({ property }) => property))]
  }
}
