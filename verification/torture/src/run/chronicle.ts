/** What the conductor itself writes down: who was killed, and what was done when. */
import type { HistoryEvent } from '@holdfast/conformance'
import type { Fault } from '@holdfast/stores/faults/catalogue'

/** A fault as it happened. */
export interface Happening {
  readonly fault: Fault
  readonly startNs: bigint
  /** When it was healed. */
  endNs: bigint
  /** Why it could not be done, if it could not. */
  failed?: string
}

/** A process that was stopped for a while. */
export interface Stop {
  readonly pid: number
  readonly startNs: bigint
  endNs: bigint
}

/** A server lost leases. */
export interface Loss {
  /** Those that were granted before this moment. */
  readonly grantedBeforeNs: bigint
  /** By then they were lost. */
  readonly lostNs: bigint
}

export interface Trouble {
  readonly property: 'error'
  readonly message: string
}

export class Chronicle {
  readonly events: HistoryEvent[] = []
  readonly happenings: Happening[] = []
  readonly stops: Stop[] = []
  readonly losses: Loss[] = []
  readonly troubles: Trouble[] = []
  readonly killed = new Set<number>()

  kill(pid: number): void {
    this.killed.add(pid)
    this.events.push({ t_ns: now(), pid, client: '', key: '', f: 'kill', type: 'info' })
  }

  begin(fault: Fault): Happening {
    const happening: Happening = { fault, startNs: now(), endNs: 0n }
    this.happenings.push(happening)
    return happening
  }

  stop(pid: number): Stop {
    const stop: Stop = { pid, startNs: now(), endNs: 0n }
    this.stops.push(stop)
    return stop
  }

  trouble(message: string): void {
    this.troubles.push({ property: 'error', message })
  }
}

export function now(): bigint {
  return process.hrtime.bigint()
}
