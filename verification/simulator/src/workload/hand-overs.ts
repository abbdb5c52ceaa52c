/**
 * Exported leases on their way to the callers that adopt them, and what is promised for these: one
 * adoption of each, with the token of the lease.
 */
import type { Dice, Heir, Operation } from '@holdfast/workload'
import type { Agenda } from '../world/agenda.js'

/** A lease that its process has exported. */
export interface Exported {
  readonly operation: Operation
  readonly handle: string
  readonly token: bigint
  /** Its actor and process, and the name that the protected resource knows. */
  readonly actor: string
  readonly pid: number
  readonly owner: string
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

const SHARE = 0.12

/** Lets some leases of a script be exported, most of them for one heir. */
export function withHeirs(dice: Dice, operation: Operation, processes: number): Operation {
  if (operation.how === 'steal' || !dice.chance(SHARE)) return operation
  const afterMs = dice.chance(0.7) ? dice.exponential(20, 200) : dice.between(0, 1500)
  const heirs = Array.from({ length: dice.pick([1, 1, 2, 2, 3]) }, () => ({
    process: dice.whole(0, processes - 1),
    // Half of them race.
    afterMs: dice.chance(0.5) ? afterMs : afterMs + dice.exponential(50, 1000),
    workMs: dice.chance(0.2) ? dice.between(300, 2500) : dice.exponential(30, 300),
  }))
  return { ...operation, heirs }
}
