/**
 * How a run ended, for programs: the line of `run --json` and the content of `--status-file`.
 * schema/output.v1.json describes it.
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
import { SCHEMA_VERSION } from '../output/json.js'
import type { ExitStatus } from '../exit-codes.js'

export type RunOutcome =
  /** The command ran and ended by itself, or by a signal from outside. */
  | 'ran'
  /** The lock was busy; the command never started. */
  | 'busy'
  /** The lock was lost and Holdfast ended the command (with `--on-lost warn` it kept running). */
  | 'lost'
  /** `--at-most-for` ended the command. */
  | 'at-most'
  /** A signal ended the wait; the command never started. */
  | 'interrupted'
  /** Another failure came before the command could run; `error` describes it. */
  | 'failed'

/** The part of a status that the wait for a lock fills in. */
export type LockStatus = Pick<RunStatus, 'claimId' | 'token' | 'waitedMs'>

export interface RunStatus {
  lock: string
  store: string
  outcome: RunOutcome
  /** The exit code of `holdfast run`. */
  exitCode: number
  /** How the command ended; null when it never started. */
  command: ExitStatus | null
  claimId: string | null
  /** In decimal digits: it can exceed the range of JSON numbers. */
  token: string | null
  waitedMs: number
  heldMs: number | null
  /** The store's answer to the release; null when nothing was held, or no answer came. */
  release: 'released' | 'lost' | null
  /** The failure, or why the lock was lost. */
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

/** Checks before the command starts that its status can be written; afterwards it is too late. */
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

/** Returns the status as one line of JSON. */
export function statusText(status: RunStatus): string {
  return `${JSON.stringify({ schemaVersion: SCHEMA_VERSION, ...status })}\n`
}

/** Writes the file in one step: readers see the old content or the new. */
export function writeStatusFile(file: string, status: RunStatus): void {
  const text = statusText(status)
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
  if ((cause as { code?: unknown }).code === 'ENXIO') return 'no process has it open for reading'
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

/** Without O_NONBLOCK, opening a pipe blocks until a reader comes, and no signal ends that wait. */
function writeSpecial(file: string, text: string): void {
  // A link may name a file that does not exist yet.
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
