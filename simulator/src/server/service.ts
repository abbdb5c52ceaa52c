/** What a run needs of a service, whichever it is: a machine that faults strike, its truth, and a store for each process. */
import type { Store } from 'holdfast/store'
import type { Claimants } from '../workload/claimants.js'
import type { Dice } from '../world/dice.js'
import type { Link } from '../world/link.js'
import type { Process } from '../world/process.js'
import type { Host } from './host.js'
import type { Truth } from './truth.js'

/** A process that is about to use the service. */
export interface Customer {
  readonly process: Process
  readonly link: Link
  readonly dice: Dice
  readonly timeoutMs: number
  readonly claimants: Claimants
}

/** The service as one process sees it. */
export interface Access {
  readonly store: Store<true>
  /** All connections of the process break, and nothing says whether what was under way has arrived. */
  reset(): void
}

export interface Service {
  readonly host: Host
  readonly truth: Truth
  open(customer: Customer): Access
}
