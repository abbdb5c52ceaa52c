/** The locks of the script, made once for each process, as a program makes them. */
import type { Lockable, Locks } from 'holdfast'
import { CAPACITY_ALL } from 'holdfast/store'
import type { Claimed } from './belief.js'
import { PERMITS, STRICT, type LockChoice } from './script.js'

/** A lock, ready to be taken. */
export interface Target {
  readonly claimed: Claimed
  readonly lock: Lockable
}

export class Targets {
  readonly #locks: Locks
  readonly #made = new Map<string, Target>()

  constructor(locks: Locks) {
    this.#locks = locks
  }

  /** Returns the lock that an operation is about. */
  of(choice: LockChoice): Target {
    const { lock, write, weight, renew } = choice
    return this.named(`${lock} ${write} ${weight} ${renew}`, () => this.#make(choice))
  }

  named(name: string, make: () => Target): Target {
    let target = this.#made.get(name)
    if (!target) this.#made.set(name, (target = make()))
    return target
  }

  #make({ lock: name, write, weight, renew }: LockChoice): Target {
    const settings = { renew, reentrant: true }
    if (name === 'permits') {
      const semaphore = this.#locks.semaphore(name, { permits: PERMITS, ...settings })
      return targetOf(semaphore.withWeight(weight), weight, PERMITS)
    }
    if (name === 'readers') {
      const { read, write: writer } = this.#locks.readWriteLock(name, settings)
      return write ? targetOf(writer, CAPACITY_ALL, CAPACITY_ALL) : targetOf(read, 1, CAPACITY_ALL)
    }
    const fairness = name === STRICT ? 'fifo' : 'cohort'
    return targetOf(this.#locks.mutex(name, { fairness, ...settings }), 1, 1)
  }
}

export function targetOf(lock: Lockable, weight: number, capacity: number): Target {
  const mode = weight === capacity ? 'exclusive' : 'shared'
  return { lock, claimed: { key: lock.name, mode, weight, capacity } }
}
