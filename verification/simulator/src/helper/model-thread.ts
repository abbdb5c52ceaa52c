/**
 * The thread of a client that renews beside its event loop. It runs the real rules, on a clock and
 * with connections of its own. It shares the memory of the real ones with the main thread.
 *
 * An event of the world is one step of one thread. So no run shows what the other thread does
 * between two accesses to the memory within a step.
 */
import type { Clock } from 'holdfast'
import type { HelperThread, LateRenewals, SharedLease, StolenLease } from 'holdfast/internal'
import type { Dice } from '@holdfast/workload'
import type { Agenda } from '../world/agenda.js'
import type { Process } from '../world/process.js'

/** What the shared clock is ahead of the clock of the runtime: both are never the same. */
export const AHEAD_MS = 4321.5

export interface ThreadOptions {
  readonly agenda: Agenda
  readonly dice: Dice
  /** The thread itself. It stops and dies with the main thread. */
  readonly process: Process
  readonly main: Process
  /** Makes the side of the thread, once it has opened the store. */
  readonly start: (clock: Clock, onStolen: (lease: StolenLease) => void) => LateRenewals
}

export class ModelThread implements HelperThread {
  onLost: (error: unknown) => void = () => undefined
  readonly #options: ThreadOptions
  readonly #claims = new Set<string>()
  readonly #stolen: StolenLease[] = []
  #renewals: LateRenewals | undefined
  #early: SharedLease[] = []
  #latestMs = 0

  constructor(options: ThreadOptions) {
    this.#options = options
    const { agenda, dice, process } = options
    const clock: Clock = {
      monotonicMs: () => process.monotonicMs() + AHEAD_MS,
      wallMs: () => process.wallMs(),
      timer: (delayMs, fire) => process.timer(delayMs, fire),
    }
    agenda.after(dice.between(20, 400), () =>
      process.receive(() => {
        const renewals = options.start(clock, (lease) => this.#stolen.push(lease))
        this.#renewals = renewals
        for (const lease of this.#early) this.#take(lease, renewals)
        this.#early = []
      }),
    )
  }

  get process(): Process {
    return this.#options.process
  }

  /** Whether the thread has heard of a claim. */
  knows(claimId: string): boolean {
    return this.#claims.has(claimId)
  }

  /** Messages arrive in their order, also while the main thread is blocked. */
  share(lease: SharedLease): void {
    const { agenda, dice, process } = this.#options
    this.#latestMs = Math.max(this.#latestMs, agenda.nowMs + dice.exponential(0.2, 3))
    agenda.at(this.#latestMs, () =>
      process.receive(() => {
        if (this.#renewals) this.#take(lease, this.#renewals)
        else this.#early.push(lease)
      }),
    )
  }

  #take(lease: SharedLease, renewals: LateRenewals): void {
    renewals.share(lease)
    this.#claims.add(lease.renewal.id)
  }

  stolen(): StolenLease[] {
    return this.#stolen.splice(0)
  }

  /** The thread ends by itself. */
  end(): void {
    if (!this.process.alive) return
    this.process.kill()
    this.#options.main.receive(() => this.onLost(new Error('The thread has ended.')))
  }

  async close(): Promise<void> {
    this.process.kill()
  }
}
