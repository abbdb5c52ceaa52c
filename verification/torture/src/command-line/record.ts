/**
 * The facts about the runs of the command line: the order to each run, its faults, and the notes of
 * the witness.
 */

/** Each has a kind of its own. */
export const LOCKS = ['mutex', 'shared', 'permits', 'nest-a', 'nest-b'] as const
export type LockName = (typeof LOCKS)[number]
/** How many permits there are. */
export const PERMITS = 2

/** How the command takes signals: see `native/witness.sh`. */
export type Temper = 'plain' | 'stubborn' | 'slow' | 'family'

/** What a run is asked to do. */
export interface RunWish {
  readonly lock: LockName
  /** With `--shared`. */
  readonly shared: boolean
  readonly holdMs: number
  readonly temper: Temper
  /** What the command exits with. */
  readonly code: number
  /** With `--wait`. */
  readonly waitMs: number | undefined
  /** The command is a run for this lock. */
  readonly inner?: LockName
  /** The run is the command of a run for this lock: a deadlock may end it. */
  readonly outer?: LockName
}

/** What a run consists of. The guardian and the command lead groups of their own. */
export type Part = 'wrapper' | 'guardian' | 'command'
export type Ending = 'SIGTERM' | 'SIGINT' | 'SIGHUP'

/** What was done to a part of a run. */
export interface Blow {
  readonly part: Part
  readonly what: 'kill' | 'stop' | Ending
  readonly startNs: bigint
  /** When a stopped part resumed; undefined while it has not. */
  endNs?: bigint
}

export interface RunRecord {
  readonly id: string
  readonly wish: RunWish
  readonly pid: number
  readonly startNs: bigint
  /** When the wrapper ended, and how. Undefined when it did not end in time. */
  endNs?: bigint
  code?: number | null
  signal?: NodeJS.Signals | null
  /** What it printed on stderr. */
  output: string
  readonly blows: Blow[]
}

/** A line of the witness. */
export interface Line {
  /** On the shared clock, to ten milliseconds. */
  readonly atNs: bigint
  readonly kind: 'ENTER' | 'OVERLAP' | 'EXIT'
  readonly run: string
  readonly token: bigint | undefined
  /** The command, which leads its group. */
  readonly pid: number
  /**
   * The slot of an ENTER, the exit code of an EXIT, the groups that have the file of an OVERLAP.
   */
  readonly rest: string
}

export interface Witnessed {
  readonly runs: readonly RunRecord[]
  /** In the order in which they were written. */
  readonly lines: readonly Line[]
  /** Processes that were still there at the end, by their command lines. */
  readonly leftOver: readonly string[]
}
