/**
 * Ends a job: SIGTERM first, SIGKILL when it has not gone by then. Several reasons can come one
 * after the other (a cap, then a loss): the first one gives the outcome its name, the earliest
 * SIGKILL counts.
 *
 * The command itself may go at once and leave a child that ignores SIGTERM, or cleans up for a
 * while: a shell does so with the program that it waits for. So whoever was there at SIGTERM is
 * remembered, whether it came from us or was passed on, and `settled` waits for all of them: they
 * work under the lock. When we end the job, those born after SIGTERM have to go as well, for which
 * a command that goes at once has left them no other sign.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Job } from './job.js'
import { familyOf, isAlive, type ProcessInfo } from './processes.js'

export type EndReason = 'lost' | 'at-most'

export class Termination {
  /** Why the job was ended; undefined while nobody has ended it. */
  reason: EndReason | undefined
  readonly #job: Job
  #timer: NodeJS.Timeout | undefined
  #killAtMs = Infinity
  readonly #told: ProcessInfo[] = []
  #commandGone = false

  constructor(job: Job) {
    this.#job = job
  }

  /** Asks the job to end and gives it `graceMs`. With none it is killed at once. */
  begin(reason: EndReason, graceMs: number): void {
    if (this.reason === undefined) {
      this.reason = reason
      this.#remember()
      if (graceMs > 0) this.#ask()
    }
    this.#killIn(Math.max(0, graceMs))
  }

  /** SIGTERM is about to be passed on. Those that outlive the command get it from here. */
  passOn(): void {
    if (this.#commandGone) this.#signalRest('SIGTERM')
    else this.#remember()
  }

  /**
   * Resolves when the command has ended and, if it was told to, when nothing is left of those that
   * were there then.
   */
  async settled(): Promise<void> {
    await this.#job.exited
    this.#commandGone = true
    while (this.#someLeft()) await sleep(LOOK_EVERY_MS)
    clearTimeout(this.#timer)
  }

  #someLeft(): boolean {
    if (this.#living().length > 0) return true
    if (this.reason === undefined) return false
    if (performance.now() >= this.#killAtMs) this.#kill()
    else this.#remember()
    return this.#living().length > 0
  }

  #living(): ProcessInfo[] {
    return this.#told.filter(({ pid, startTime }) => isAlive(pid, startTime))
  }

  /** A stopped process handles SIGTERM when it goes on, so it is told to. */
  #ask(): void {
    for (const signal of ['SIGTERM', 'SIGCONT'] as const) {
      if (this.#commandGone) this.#signalRest(signal)
      else this.#job.signal(signal)
    }
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
    this.#remember()
    this.#job.kill()
    this.#signalRest('SIGKILL')
  }

  #remember(): void {
    const known = new Set(this.#told.map(({ pid, startTime }) => `${pid} ${startTime}`))
    const descendants = familyOf(...this.#living().map(({ pid }) => pid))
    for (const member of [...this.#job.members(), ...descendants]) {
      const key = `${member.pid} ${member.startTime}`
      if (!known.has(key)) this.#told.push(member)
      known.add(key)
    }
  }

  #signalRest(signal: NodeJS.Signals): void {
    for (const { pid } of this.#living()) {
      try {
        process.kill(pid, signal)
      } catch {
        // Gone since the look.
      }
    }
  }
}

const LOOK_EVERY_MS = 10
