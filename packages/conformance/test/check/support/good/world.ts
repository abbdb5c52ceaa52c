/** What the parts of the good lock's world share. */
import type { HistoryNote } from '@holdfast/conformance'
import type { Agenda } from './agenda.js'
import type { Counter, Server } from './server.js'

export interface GoodLockOptions {
  readonly seed: number
  readonly capacity: number
  /** The weights of the clients of a process, one for each client. */
  readonly weights: readonly number[]
  /**
   * Whether clients of one process hand the lock on. Only if each client takes the whole capacity.
   */
  readonly cohorts: boolean
  readonly processes: number
  /** How often each client takes the lock. */
  readonly rounds: number
  /** Holders sleep through leases, and processes are killed. */
  readonly faults: boolean
}

export interface World {
  readonly options: GoodLockOptions
  readonly agenda: Agenda
  readonly server: Server
  readonly counter: Counter
  /** Draws a time in nanoseconds, from 0 to `mostNs`. */
  upTo(mostNs: number): number
  latencyNs(): number
  happens(probability: number): boolean
  note(pid: number, client: string, note: Omit<HistoryNote, 'key'>): void
}
