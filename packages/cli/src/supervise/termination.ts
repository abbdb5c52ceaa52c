/**
 * Ends a job: SIGTERM first, SIGKILL when it has not gone by then. Several reasons can come one after the other (a
 * cap, then a loss): the first one gives the outcome its name, the earliest SIGKILL counts.
 *
 * The command itself may go at once and leave a child that ignores SIGTERM. So whoever was there at SIGTERM is
 * remembered, and `settled` waits for all of them.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Job } from './job.js'
import { isAlive, type ProcessInfo } from './processes.js'

export type EndReason = 'lost' | 'at-most'

export class Termination {
  /** Why the job was ended; undefined while nobody has ended it. */
  reason: EndReason | undefined
  readonly #job: Job
  #timer: NodeJS.Timeout | undefined
  #killAtMs = Infinity
  #told: readonly ProcessInfo[] = []

  constructor(job: Job) {
    this.#job = job
  }

  /** Asks the job to end and gives it `graceMs`. With none it is killed at once. */
  begin(reason: EndReason, graceMs: number): void {
    if (this.reason === undefined) {
      this.reason = reason
      this.#told = this.#job.members()
      if (graceMs > 0) this.#ask()
    }
    this.#killIn(Math.max(0, graceMs))
  }

  /** Resolves when the command has ended and, if it was ended by us, when nothing of it is left. */
  async settled(): Promise<void> {
    await this.#job.exited
    while (this.#told.some((member) => isAlive(member.pid, member.startTime))) await sleep(LOOK_EVERY_MS)
    clearTimeout(this.#timer)
  }

  /** A stopped process handles SIGTERM when it goes on, so it is told to. */
  #ask(): void {
    this.#job.signal('SIGTERM')
    this.#job.signal('SIGCONT')
  }

  #killIn(graceMs: number): void {
    const killAtMs = performance.now() + graceMs
    if (killAtMs >= this.#killAtMs) return
    this.#killAtMs = killAtMs
    clearTimeout(this.#timer)
    if (graceMs === 0) this.#kill()
    else this.#timer = setTimeout(() => this.#kill(), graceMs)
  }

  /** Kills the job, and those of it that outlived the command and are out of the job's reach. */
  #kill(): void {
    this.#job.kill()
    for (const { pid, startTime } of this.#told) {
      if (!isAlive(pid, startTime)) continue
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // Gone since the look.
      }
    }
  }
}

const LOOK_EVERY_MS = 10
