/** A case of the suite, independent of any test runner. */
import type { Traits } from 'holdfast/store'
import type { Context } from './context.js'
import type { Subject } from './subject.js'

/** A trait that a store may lack. */
export interface Need {
  readonly name: string
  has(traits: Traits, subject: Subject): boolean
  /** Asserts how a store without it answers: with a typed error, or with a negative answer. */
  refused?(context: Context): Promise<void>
  /** Why there is nothing to assert without it. Set when `refused` is not. */
  readonly moot?: string
}

export interface Case {
  readonly group: string
  /** The condition and the result. */
  readonly name: string
  readonly needs: readonly Need[]
  /** How long it may take on this subject, in real milliseconds. */
  limitMs(subject: Subject): number
  /** Whether no other case may run beside it: it restarts the service, or keeps it busy. */
  readonly alone: boolean
  run(context: Context): Promise<void>
}

/** Longer than the bounds of the waits inside a case. */
export const CASE_LIMIT_MS = 90_000

export interface CaseOptions {
  readonly needs?: readonly Need[] | undefined
  /** A function where it depends on the subject, such as on how many processes are killed. */
  readonly limitMs?: (number | ((subject: Subject) => number)) | undefined
  readonly alone?: boolean | undefined
}

/** Collects the cases of one group. */
export class Group {
  readonly cases: Case[] = []
  readonly #name: string
  readonly #needs: readonly Need[]

  /** @param needs the needs of every case of the group */
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
      limitMs: typeof limitMs === 'function' ? limitMs : () => limitMs,
      alone,
      run,
    })
  }
}
