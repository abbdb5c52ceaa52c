/**
 * The exit codes of the command line. They follow sysexits(3) where it has a word for it, and
 * `timeout`, `env` and the shells for what happens to the command itself.
 */
import { constants } from 'node:os'

export const EXIT = {
  ok: 0,
  usage: 64,
  notHeld: 66,
  storeUnreachable: 69,
  internal: 70,
  system: 71,
  lockLost: 74,
  busy: 75,
  auth: 77,
  config: 78,
  atMost: 124,
  notExecutable: 126,
  notFound: 127,
} as const

/**
 * The error codes of `--json`, each with its exit code. One kind of mistake has one code. The table
 * in docs/command-line.md lists the same codes; a test compares the two.
 */
export const ERROR_EXITS = {
  USAGE: EXIT.usage,
  NOT_HELD: EXIT.notHeld,
  STORE_UNAVAILABLE: EXIT.storeUnreachable,
  NOT_REPLICATED: EXIT.storeUnreachable,
  RELEASE_UNKNOWN: EXIT.storeUnreachable,
  INTERNAL: EXIT.internal,
  SYSTEM: EXIT.system,
  LOCK_LOST: EXIT.lockLost,
  LOCK_TIMEOUT: EXIT.busy,
  DEADLOCK: EXIT.busy,
  STORE_AUTH: EXIT.auth,
  CONFIG: EXIT.config,
  STORE_CONFIG: EXIT.config,
  STORE_FORMAT: EXIT.config,
  LOCK_MISMATCH: EXIT.config,
  UNSUPPORTED: EXIT.config,
  NOT_EXECUTABLE: EXIT.notExecutable,
  NOT_FOUND: EXIT.notFound,
} as const

export type ErrorCode = keyof typeof ERROR_EXITS

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

/**
 * Returns the signal that ended a command, or a command of it: shells report the latter as 128 + n.
 */
export function killerOf({ code, signal }: ExitStatus): NodeJS.Signals | undefined {
  if (signal !== null || code === null) return signal ?? undefined
  const names = Object.keys(constants.signals) as NodeJS.Signals[]
  return names.find((name) => constants.signals[name] === code - 128)
}
