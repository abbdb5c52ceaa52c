/** The cohorts of a client, by what their callers want. One is made when it is needed, and made use of again. */
import type { ClaimShape, Client } from './client.js'
import { Cohort } from './cohort.js'

/** Below so many nobody looks for idle ones. */
const KEPT = 256

export class Cohorts {
  readonly #client: Client
  readonly #all = new Map<string, Cohort>()
  #sweepAt = KEPT

  constructor(client: Client) {
    this.#client = client
  }

  /** Where somebody of this process wants or holds the lock, or did a while ago. */
  find(key: string): Cohort | undefined {
    return this.#all.get(key)
  }

  /** @param key the same only for claims that are alike */
  get(key: string, shape: ClaimShape): Cohort {
    let cohort = this.#all.get(key)
    if (!cohort) {
      if (this.#all.size >= this.#sweepAt) this.#sweep()
      cohort = new Cohort(this.#client, shape)
      this.#all.set(key, cohort)
    }
    return cohort
  }

  /**
   * Forgets those that nobody needs any more. Not each when it falls idle: most locks are wanted again, and a map out of
   * which so much is taken costs more than what it holds.
   */
  #sweep(): void {
    for (const [key, cohort] of this.#all) if (cohort.idle) this.#all.delete(key)
    this.#sweepAt = Math.max(KEPT, 2 * this.#all.size)
  }
}
