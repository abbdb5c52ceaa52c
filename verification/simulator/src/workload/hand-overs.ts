/**
 * Exported leases on their way to the callers that adopt them, and what is promised for these: one
 * adoption of each, with a larger token.
 */
import type { Heir, Operation } from '@holdfast/workload'
import type { Agenda } from '../world/agenda.js'

/** A lease that its process has exported. */
export interface Exported {
  readonly operation: Operation
  readonly handle: string
  readonly token: bigint
  /** How often it was adopted. */
  adoptions: number
}

type Deliver = (name: string, exported: Exported, heir: Heir) => void

export class HandOvers {
  /** For each caller that adopts: whose lease. */
  readonly byHeir = new Map<string, Exported>()
  readonly #agenda: Agenda
  readonly #deliver: Deliver

  constructor(agenda: Agenda, deliver: Deliver) {
    this.#agenda = agenda
    this.#deliver = deliver
  }

  /** Carries the handle to all heirs of the operation. Some get it after the deadline. */
  offer(exported: Exported): void {
    for (const heir of exported.operation.heirs) {
      const name = `p${heir.process}.heir${this.byHeir.size}`
      this.byHeir.set(name, exported)
      this.#agenda.after(heir.afterMs, () => this.#deliver(name, exported, heir))
    }
  }
}
