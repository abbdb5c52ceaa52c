/**
 * The exit codes of the command line. They follow sysexits(3) where it has a word for it, and
 * `timeout`, `env` and the shells for what happens to the command itself.
 */
import { constants } from 'node:os'

export const EXIT = {
  ok: 0,
  /** `--at-most-for` ended the command, as `timeout` would. */
  atMost: 124,
  /** The command exists and cannot be executed. */
  notExecutable: 126,
  /** The command was not found. */
  notFound: 127,
  usage: 64,
  storeUnreachable: 69,
  /** A fault of Holdfast itself. */
  internal: 70,
  /** The system refused a process, or ended one of ours. */
  system: 71,
  lockLost: 74,
  /** The lock was busy, or stayed so for the whole of `--wait`. */
  busy: 75,
  auth: 77,
  config: 78,
} as const

/** How a process ended: one of the two is null. */
export interface ExitStatus {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export function signalExitCode(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal]
}

export function exitCodeOf(status: ExitStatus): number {
  return status.signal === null ? (status.code ?? EXIT.internal) : signalExitCode(status.signal)
}
