/**
 * What a run needs of any service: a machine that faults strike, its truth, and a
 * store for each process.
 */
import type { Store } from 'holdfast/store'
import type { Claimants } from '../workload/claimants.js'
import type { Dice } from '@holdfast/workload'
import type { Link } from '../world/link.js'
import type { Process } from '../world/process.js'
import type { TokenMark } from '../redlock/token-log.js'
import type { Host } from './host.js'
import type { HeldTruth } from './truth.js'

/** A process that is about to use the service. */
export interface Customer {
  readonly process: Process
  /** Its ways to the servers, one for each. */
  readonly links: readonly [Link, ...Link[]]
  readonly dice: Dice
  readonly requestTimeoutMs: number
  readonly claimants: Claimants
}

/** A claim that holds or waits. */
export interface QueuedClaim {
  readonly lock: string
  readonly claimId: string
}

/** The service as one process sees it. */
export interface Access {
  readonly store: Store
  /**
   * The connections of the process break, to one server or to all. Whether requests in flight have
   * arrived stays unknown.
   */
  reset(node?: number): void
}

export interface Service {
  readonly hosts: readonly Host[]
  readonly truth: HeldTruth
  /** Where tokens come from several servers: those that each voted with and sealed. */
  readonly tokenLogs?: readonly (readonly TokenMark[])[]
  /** Where claims have entries that stay until they are taken out: those of some clients. */
  entriesOf?(clientIds: ReadonlySet<string>): readonly QueuedClaim[]
  open(customer: Customer): Access
}
