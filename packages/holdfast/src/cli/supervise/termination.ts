/**
 * Ends a job: SIGTERM first, SIGKILL after the grace time. Several reasons can follow one another
 * (a cap, then a loss): the first one names the outcome, and the earliest SIGKILL counts.
 *
 * The command may end at once and leave a child that ignores SIGTERM or cleans up for a while, as a
 * shell does. So this remembers the processes that exist at a SIGTERM, Holdfast's own or one passed
 * on. `settled` waits for all of them, since they work under the lock. When Holdfast ends the job,
 * processes that start after SIGTERM must end as well; nothing else reaches them once the command
 * is gone.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Job } from './job.js'
import { familyOf, isAlive, type ProcessInfo } from './processes.js'

/** `rest`: the command was killed, and left processes behind. */
export type EndReason = 'lost' | 'at-most' | 'rest'

export class Termination {
  /** Why Holdfast ended the job; undefined while it has not. */
  reason: EndReason | undefined
  readonly #job: Job
  #timer: NodeJS.Timeout | undefined
  #killAtMs = Infinity
  readonly #remembered: ProcessInfo[] = []
  #commandGone = false

  constructor(job: Job) {
    this.#job = job
  }

  /** Asks the job to end, and kills it after `graceMs`; with 0 at once. */
  begin(reason: EndReason, graceMs: number): void {
    if (this.reason === undefined) {
      this.reason = reason
      this.#remember()
      if (graceMs > 0) this.#ask()
    }
    this.#killIn(Math.max(0, graceMs))
  }

  /** Call this before SIGTERM is passed on. Processes that outlive the command get it from here. */
  passOn(): void {
    if (this.#commandGone) this.#signalRest('SIGTERM')
    else this.#remember()
  }

  /** Whether processes of the command work on after its end. */
  get leftBehind(): boolean {
    return this.#job.members().some(({ zombie }) => !zombie)
  }

  /** Resolves when the command has ended, together with all processes that existed at a SIGTERM. */
  async settled(): Promise<void> {
    await this.#job.exited
    this.#commandGone = true
    while (this.#someLeft()) await sleep(LOOK_EVERY_MS)
    clearTimeout(this.#timer)
  }

  /** Resolves when no process of the command is left. A later SIGTERM reaches those that are. */
  async emptied(): Promise<void> {
    while (this.leftBehind) {
      this.#remember()
      // They may work for days, and a look at all processes of the machine takes milliseconds.
      for (let delayMs = LOOK_EVERY_MS; this.#living().length > 0;) {
        await sleep(delayMs)
        delayMs = Math.min(1.2 * delayMs, LONGEST_LOOK_MS)
      }
    }
    await this.settled()
  }

  #someLeft(): boolean {
    if (this.#living().length > 0) return true
    if (this.reason === undefined) return false
    if (performance.now() >= this.#killAtMs) this.#kill()
    else this.#remember()
    return this.#living().length > 0
  }

  #living(): ProcessInfo[] {
    return this.#remembered.filter(({ pid, startTime }) => isAlive(pid, startTime))
  }

  /** A stopped process handles SIGTERM only after SIGCONT. */
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

  /** Kills the job, and its remembered processes that the job no longer reaches. */
  #kill(): void {
    this.#remember()
    this.#job.kill()
    this.#signalRest('SIGKILL')
  }

  #remember(): void {
    const known = new Set(this.#remembered.map(({ pid, startTime }) => `${pid} ${startTime}`))
    const descendants = familyOf(...this.#living().map(({ pid }) => pid))
    for (const member of [...this.#job.members(), ...descendants]) {
      const key = `${member.pid} ${member.startTime}`
      if (!known.has(key)) this.#remembered.push(member)
      known.add(key)
    }
  }

  #signalRest(signal: NodeJS.Signals): void {
    for (const { pid } of this.#living()) {
      try {
        process.kill(pid, signal)
      } catch {
        // It ended after the look.
      }
    }
  }
}

const LOOK_EVERY_MS = 10
const LONGEST_LOOK_MS = 200
