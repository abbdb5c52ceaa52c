/** The waiters of one process of the good lock, which may hand the lock on to each other. */
import { TTL_NS } from './server.js'
import type { World } from './world.js'

export const MARGIN_NS = 500_000
const IN_A_ROW = 32
const FOR_NS = 10_000_000

export interface Lease {
  readonly id: string
  readonly token: bigint
  /** Counted in the row of hand-offs. */
  readonly place: number
  readonly grantedNs: number
  deadlineNs: number
}

interface Waiter {
  readonly onEnqueued: () => void
  readonly onGrant: (lease: Lease) => void
}

let claims = 0

export class Cohort {
  readonly #world: World
  readonly #waiters: Waiter[] = []
  #busy = false

  constructor(world: World) {
    this.#world = world
  }

  acquire(weight: number, onEnqueued: () => void): Promise<Lease> {
    return new Promise((onGrant) => {
      if (!this.#world.options.cohorts) return this.#ask(weight, 1, onEnqueued, onGrant)
      this.#waiters.push({ onEnqueued, onGrant })
      if (!this.#busy) this.#askForFirst()
    })
  }

  /**
   * Hands the lease on if that is allowed. Otherwise the others join the server's queue again.
   */
  handOn(lease: Lease): boolean {
    if (!this.#world.options.cohorts) return false
    const { nowNs } = this.#world.agenda
    const inTime = nowNs - lease.grantedNs < FOR_NS && lease.deadlineNs - nowNs > TTL_NS / 2
    const next = inTime && lease.place + 1 < IN_A_ROW ? this.#waiters.shift() : undefined
    if (next) {
      next.onGrant({ ...lease, token: lease.token + 1n, place: lease.place + 1 })
      return true
    }
    this.#busy = false
    if (this.#waiters.length > 0) this.#askForFirst()
    return false
  }

  #askForFirst(): void {
    this.#busy = true
    const onEnqueued = (): void => this.#waiters[0]?.onEnqueued()
    this.#ask(this.#world.options.capacity, IN_A_ROW, onEnqueued, (lease) =>
      this.#waiters.shift()?.onGrant(lease),
    )
  }

  #ask(
    weight: number,
    tokens: number,
    onEnqueued: () => void,
    onGrant: (lease: Lease) => void,
  ): void {
    const { agenda, server } = this.#world
    const id = `claim-${(claims += 1)}`
    let enqueued = false
    const tell = (token: bigint): void => {
      const deadlineNs = agenda.nowNs + TTL_NS - MARGIN_NS
      agenda.after(this.#world.latencyNs(), () => {
        enqueued = true
        onGrant({ id, token, place: 0, grantedNs: agenda.nowNs, deadlineNs })
      })
    }
    agenda.after(this.#world.latencyNs(), () => {
      if (server.ask({ id, weight, tokens, onGrant: tell })) return
      agenda.after(this.#world.latencyNs(), () => {
        if (!enqueued) onEnqueued()
      })
    })
  }
}
