/** One of the processes that contend: it starts one run after the other. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Dice } from '@holdfast/workload'
import type { Victim } from '../faults/inflict.js'
import type { RunRecord, RunWish } from './record.js'
import type { Wrapper } from './wrapper.js'

const [THINK_MS, MOST_THINK_MS] = [40, 300]
const OBSERVE_EVERY_MS = 10
const HOLDING_MS = 1500

export interface ContenderOptions {
  readonly index: number
  readonly dice: Dice
  readonly draw: (dice: Dice) => RunWish
  readonly start: (id: string, wish: RunWish) => Wrapper
  readonly entered: (id: string) => boolean
  /** Has the command of a run work on for longer than a lease. */
  readonly stay: (id: string) => void
}

export class Contender implements Victim {
  readonly runs: RunRecord[] = []
  readonly #options: ContenderOptions
  #wrapper: Wrapper | undefined
  #closing = false
  #ended: Promise<void> = Promise.resolve()
  #goOn: (() => void) | undefined

  constructor(options: ContenderOptions) {
    this.#options = options
  }

  begin(): void {
    this.#ended = this.#work()
  }

  /** Starts no more runs. Resolves when the last one has ended. */
  async end(): Promise<void> {
    this.#closing = true
    await this.#ended
  }

  get wrapper(): Wrapper | undefined {
    return this.#wrapper
  }

  get waiting(): boolean {
    return this.#wrapper !== undefined && !this.#options.entered(this.#wrapper.record.id)
  }

  get atWork(): boolean {
    return this.#wrapper !== undefined && !this.waiting
  }

  /** Resolves when its command is at work, and will be for long; or after a while. */
  async holding(): Promise<void> {
    await this.#until(() => this.atWork, HOLDING_MS)
    this.#wrapper?.observe()
    this.stay()
  }

  stay(): void {
    if (this.#wrapper) this.#options.stay(this.#wrapper.record.id)
  }

  pause(): void {
    this.#goOn ??= this.#wrapper?.stop('wrapper')
  }

  resume(): void {
    this.#goOn?.()
    this.#goOn = undefined
  }

  kill(): Promise<void> {
    this.#wrapper?.kill('wrapper')
    return Promise.resolve()
  }

  /** The next run follows by itself. */
  start(): Promise<void> {
    return Promise.resolve()
  }

  async #work(): Promise<void> {
    const { index, dice, draw, start } = this.#options
    while (!this.#closing) {
      const wish = draw(dice)
      const wrapper = start(`${index}-${this.runs.length}`, wish)
      this.#wrapper = wrapper
      this.runs.push(wrapper.record)
      await wrapper.exited
      this.#wrapper = undefined
      await sleep(dice.exponential(THINK_MS, MOST_THINK_MS))
    }
  }

  async #until(condition: () => boolean, withinMs: number): Promise<boolean> {
    const endMs = performance.now() + withinMs
    while (!condition()) {
      if (performance.now() > endMs || this.#closing) return false
      await sleep(OBSERVE_EVERY_MS)
    }
    return true
  }
}
