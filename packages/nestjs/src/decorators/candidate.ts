/** The candidates of an application for the leaderships of `@LeaderOnly`. */
import { isLockError, type Election, type Lease, type Locks } from 'holdfast'
import { isBusyError } from '../errors/outcome.js'

/** They end with their locks. */
const candidates = new WeakMap<Locks, Map<string, Candidate>>()

/** Returns the candidate of these locks for a leadership. It campaigns from now on. */
export function candidateFor(locks: Locks, name: string): Candidate {
  let byName = candidates.get(locks)
  if (!byName) candidates.set(locks, (byName = new Map()))
  let candidate = byName.get(name)
  if (!candidate) {
    // A campaign that failed for good is begun again by the next call, which gets its error.
    const forget = (): void => void byName.delete(name)
    candidate = new Candidate(locks.election(name), forget)
    byName.set(name, candidate)
  }
  return candidate
}

class Candidate {
  readonly #election: Election
  readonly #firstAnswer: Promise<void>
  #lease: Lease | undefined

  constructor(election: Election, forget: () => void) {
    this.#election = election
    this.#firstAnswer = this.#tryOnce()
    this.#firstAnswer.then(() => this.#campaign()).catch(forget)
  }

  /**
   * Returns the leadership of this candidate, if it has one. The first callers wait for the store's
   * answer to the first attempt: until then it is unknown whether another instance leads.
   */
  async leadership(): Promise<Lease | undefined> {
    await this.#firstAnswer
    return this.#lease?.held === true ? this.#lease : undefined
  }

  async #tryOnce(): Promise<void> {
    try {
      this.#lease = await this.#election.campaign({ waitMs: 0 })
    } catch (error) {
      if (!isLockError(error) || !isBusyError(error)) throw error
    }
  }

  /** Leads, and campaigns again after each loss. Rejects when the locks are closed. */
  async #campaign(): Promise<never> {
    for (;;) {
      await this.#election.lead((lease) => {
        this.#lease = lease
        return aborted(lease.signal)
      })
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
