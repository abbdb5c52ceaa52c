/**
 * How a run ended, for programs: the line of `run --json` and the content of `--status-file`. Keys
 * are stable.
 */
import { randomUUID } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { ConfigError, UsageError } from '../cli-error.js'
import type { ExitStatus } from '../exit-codes.js'

export type RunOutcome =
  /** The command ran and ended by itself, or by a signal from outside. */
  | 'ran'
  /** The lock was busy; the command never started. */
  | 'busy'
  /** The lock was lost and the command was ended (or, with `--on-lost warn`, worked on). */
  | 'lost'
  /** `--at-most-for` ended the command. */
  | 'at-most'
  /** A signal ended the wait; the command never started. */
  | 'interrupted'
  /** Something else went wrong before the command could run; `error` says what. */
  | 'failed'

export interface RunStatus {
  lock: string
  store: string
  outcome: RunOutcome
  /** The exit code of `holdfast run`. */
  exitCode: number
  /** How the command ended; null when it never started. */
  command: ExitStatus | null
  claimId: string | null
  /** In decimal digits: it can be larger than what JSON numbers carry. */
  token: string | null
  waitedMs: number
  heldMs: number | null
  /** What the store said to the release; null when nothing was held, or no answer came. */
  release: 'released' | 'lost' | null
  /** What went wrong, or why the lock was lost. */
  error: { code: string; message: string } | null
}

export function newStatus(lock: string, store: string): RunStatus {
  return {
    lock,
    store,
    outcome: 'failed',
    exitCode: 0,
    command: null,
    claimId: null,
    token: null,
    waitedMs: 0,
    heldMs: null,
    release: null,
    error: null,
  }
}

/**
 * Looks before the work begins whether its status will find a place: afterwards it is too late to
 * refuse.
 */
export function assertStatusFile(file: string): void {
  if (file === '') throw new UsageError('--status-file names no file. Write --status-file FILE.')
  try {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false })
    if (found?.isDirectory() === true) throw new Error('it is a folder')
    if (!isSpecial(file)) accessSync(dirname(file), constants.W_OK | constants.X_OK)
    else if (found !== undefined) accessSync(file, constants.W_OK)
  } catch (cause) {
    throw new ConfigError(
      `The status cannot be written to ${file}: ${reasonOf(cause)}. Choose another file.`,
      {
        cause,
      },
    )
  }
}

/** Readers see the old content or the new, never half of it. */
export function writeStatusFile(file: string, status: RunStatus): void {
  const text = `${JSON.stringify(status)}\n`
  try {
    // A pipe or a device cannot be replaced, only written to.
    if (isSpecial(file)) writeSpecial(file, text)
    else replaceFile(file, text)
  } catch (cause) {
    throw new ConfigError(`The status could not be written to ${file}: ${reasonOf(cause)}.`, {
      cause,
    })
  }
}

function reasonOf(cause: unknown): string {
  if ((cause as { code?: unknown }).code === 'ENXIO') return 'nobody has it open for reading'
  return cause instanceof Error ? cause.message : String(cause)
}

function replaceFile(file: string, text: string): void {
  const fresh = `${file}.${randomUUID()}.tmp`
  try {
    writeFileSync(fresh, text, { flag: 'wx' })
    renameSync(fresh, file)
  } catch (error) {
    rmSync(fresh, { force: true })
    throw error
  }
}

/** To open a pipe waits for its reader, for ever and deaf to signals, unless told otherwise. */
function writeSpecial(file: string, text: string): void {
  // A link to a file that is not there yet is made, as ever.
  const fd = openSync(
    file,
    constants.O_WRONLY | constants.O_NONBLOCK | constants.O_CREAT | constants.O_TRUNC,
  )
  try {
    writeFileSync(fd, text)
  } finally {
    closeSync(fd)
  }
}

function isSpecial(file: string): boolean {
  const found = lstatSync(file, { bigint: true, throwIfNoEntry: false })
  return found !== undefined && !found.isFile()
}
