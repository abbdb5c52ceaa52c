/** The callers of one process that adopt leases of other processes. */
import { Actor, type Belief } from '@holdfast/workload'
import type { ToClient } from '../protocol.js'
import type { Log } from './log.js'
import type { Site } from './site.js'

export class Adopters {
  readonly #site: Site
  readonly #log: Log
  readonly #open = new Set<Promise<void>>()

  constructor(site: Site, log: Log) {
    this.#site = site
    this.#log = log
  }

  adopt(order: Extract<ToClient, { ask: 'adopt' }>): void {
    const done = this.#adopt(order).finally(() => this.#open.delete(done))
    this.#open.add(done)
  }

  /** Resolves when all have released what they adopted. None begins once the site closes. */
  async ended(): Promise<void> {
    await Promise.all(this.#open)
  }

  async #adopt({ name, exported, workMs }: Extract<ToClient, { ask: 'adopt' }>): Promise<void> {
    const { choice, handle, token } = exported
    const actor = new Actor(name, this.#site)
    const work = async (belief: Belief): Promise<void> => {
      const { key, lease } = belief
      if (lease.token <= BigInt(token)) {
        const message = `${name} adopted the token ${token}, and got ${lease.token}.`
        this.#log.breach({ property: 'tokens', key, message })
      }
      await actor.increment(belief)
      await actor.workFor(workMs, belief)
      await actor.increment(belief)
    }
    const act = (): Promise<void> => {
      const target = this.#site.target(choice)
      return actor.hold({ target, how: 'adopt', handle, waitMs: Infinity, work })
    }
    let isBegun = false
    await actor.run(() => {
      if (isBegun) return undefined
      isBegun = true
      return { thinkMs: 0, act }
    })
  }
}
