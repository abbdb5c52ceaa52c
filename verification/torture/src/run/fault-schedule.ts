/** Plays the schedule of faults against the clock. */
import { setTimeout as sleep } from 'node:timers/promises'
import { FAULTS, type Fault, type Lane } from '@holdfast/stores/faults/catalogue'
import { inflict, type Ground } from '../faults/inflict.js'
import { now, type Chronicle, type Happening } from './chronicle.js'

export class FaultSchedule {
  readonly #plan: readonly Fault[]
  readonly #ground: Ground
  readonly #chronicle: Chronicle
  readonly #signal: AbortSignal
  readonly #present = new Set<Happening>()

  constructor(plan: readonly Fault[], ground: Ground, chronicle: Chronicle, signal: AbortSignal) {
    this.#plan = plan
    this.#ground = ground
    this.#chronicle = chronicle
    this.#signal = signal
  }

  /** What is broken at the moment. */
  get present(): string[] {
    return [...this.#present].map(({ fault }) => fault.kind)
  }

  /** Resolves when the run is over and everything is healed. */
  async play(seconds: number): Promise<void> {
    const startMs = performance.now()
    const lanes = new Set(this.#plan.map(laneOf))
    const ofLane = (lane: Lane): Fault[] => this.#plan.filter((fault) => laneOf(fault) === lane)
    await Promise.all([...lanes].map((lane) => this.#playLane(ofLane(lane), startMs)))
    await this.#until(startMs + seconds * 1000)
  }

  async #playLane(faults: readonly Fault[], startMs: number): Promise<void> {
    for (const fault of faults) {
      await this.#until(startMs + fault.atMs)
      if (this.#signal.aborted) return
      await this.#playFault(fault)
    }
  }

  async #playFault(fault: Fault): Promise<void> {
    const happening = this.#chronicle.begin(fault)
    this.#present.add(happening)
    try {
      const heal = await inflict(fault, this.#ground)
      await this.#until(performance.now() + fault.forMs)
      await heal()
    } catch (error) {
      happening.failed = String(error)
      this.#chronicle.trouble(
        `The fault ${fault.kind} at ${fault.atMs} ms could not be driven: ${String(error)}`,
      )
    }
    happening.endNs = now()
    this.#present.delete(happening)
  }

  async #until(timeMs: number): Promise<void> {
    const leftMs = timeMs - performance.now()
    if (leftMs <= 0 || this.#signal.aborted) return
    await sleep(leftMs, undefined, { signal: this.#signal }).catch(() => undefined)
  }
}

function laneOf({ kind }: Fault): Lane {
  return FAULTS[kind].lane
}
