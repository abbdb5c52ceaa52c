/** A single test of the suite, independent of any test runner. */
import type { Traits } from '../store/contract.js'
import type { Context } from './context.js'
import type { Subject } from './subject.js'

/** Something that a store may or may not have. */
export interface Need {
  readonly name: string
  has(traits: Traits, subject: Subject): boolean
  /**
   * What is asserted of a store that lacks it: asking is refused in a typed way, or has a plain
   * negative answer.
   */
  refused?(context: Context): Promise<void>
  /** Why there is nothing to assert without it. Present when `refused` is not. */
  readonly moot?: string
}

export interface Case {
  readonly group: string
  /** A sentence about the store that is true. */
  readonly name: string
  readonly needs: readonly Need[]
  /** How long it may take at most, in real milliseconds. */
  readonly limitMs: number
  /**
   * Whether no other case may run beside it: it restarts the service, or keeps it or the process
   * busy.
   */
  readonly alone: boolean
  run(context: Context): Promise<void>
}

/** Long enough for what a test awaits, since each of its waits has a bound of its own. */
export const CASE_LIMIT_MS = 30_000

export interface CaseOptions {
  readonly needs?: readonly Need[]
  readonly limitMs?: number
  readonly alone?: boolean
}

/** Collects the cases of one group. */
export class Group {
  readonly cases: Case[] = []
  readonly #name: string
  readonly #needs: readonly Need[]

  /** @param needs what every case of the group needs */
  constructor(name: string, needs: readonly Need[] = []) {
    this.#name = name
    this.#needs = needs
  }

  test(name: string, run: (context: Context) => Promise<void>, options: CaseOptions = {}): void {
    const { needs = [], limitMs = CASE_LIMIT_MS, alone = false } = options
    this.cases.push({
      group: this.#name,
      name,
      needs: [...this.#needs, ...needs],
      limitMs,
      alone,
      run,
    })
  }
}
