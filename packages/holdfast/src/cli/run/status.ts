/**
 * How a run ended, for programs: the line of `run --json` and the content of `--status-file`.
 * schema/output.v1.json describes it.
 */
import { randomUUID } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  type Stats,
} from 'node:fs'
import { dirname } from 'node:path'
import { ConfigError, UsageError } from '../cli-error.js'
import { accessMode } from '../output/access-mode.js'
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
    const target = targetOf(file)
    if (target.kind === 'file') accessSync(dirname(file), constants.W_OK | constants.X_OK)
    else if (target.kind === 'descriptor') requireOutput(target.fd)
    else accessSync(file, constants.W_OK)
  } catch (cause) {
    throw new ConfigError(
      `The status cannot be written to ${file}: ${reasonOf(cause)}. Choose another file.`,
      { cause },
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
    const target = targetOf(file)
    if (target.kind === 'file') replaceFile(file, text)
    else if (target.kind === 'descriptor') writeFileSync(target.fd, text)
    else writeSpecial(file, text)
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
  // Another user may have put a link there since the check.
  const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW
  const fd = openSync(file, flags)
  try {
    if (!isPipeOrDevice(fstatSync(fd))) throw new Error('it is no pipe any more')
    writeFileSync(fd, text)
  } finally {
    closeSync(fd)
  }
}

/** Where a status goes: a new file that takes the name, a pipe or device, or a descriptor. */
type Target =
  | { readonly kind: 'file' }
  | { readonly kind: 'special' }
  | { readonly kind: 'descriptor'; readonly fd: number }

/**
 * A link is never followed, since another user may have made it in a folder that all may write to.
 * The new file replaces the link, and not the target of the link. The names of descriptors are
 * links too, and are written to directly.
 */
function targetOf(file: string): Target {
  const fd = descriptorOf(file)
  if (fd !== undefined) return { kind: 'descriptor', fd }
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found?.isDirectory() === true) throw new Error('it is a folder')
  if (found === undefined || found.isFile()) return { kind: 'file' }
  if (isPipeOrDevice(found)) return { kind: 'special' }
  if (!found.isSymbolicLink()) throw new Error('it is neither a file nor a pipe')
  const named = statSync(file, { throwIfNoEntry: false })
  if (named === undefined || named.isFile()) return { kind: 'file' }
  throw new Error('it is a link, and not to a file')
}

const STREAMS = ['/dev/stdin', '/dev/stdout', '/dev/stderr']

function descriptorOf(file: string): number | undefined {
  const stream = STREAMS.indexOf(file)
  const number = /^\/(?:dev|proc\/self)\/fd\/(\d{1,9})$/.exec(file)?.[1]
  if (number !== undefined) return Number(number)
  return stream === -1 ? undefined : stream
}

function requireOutput(fd: number): void {
  const found = fstatSync(fd)
  const isOutput = found.isFile() || found.isSocket() || isPipeOrDevice(found)
  if (!isOutput || accessMode(fd) === constants.O_RDONLY || isPipeToItself(fd))
    throw new Error('the descriptor is no output')
}

/**
 * Whether this process reads from the pipe itself, as from those of Node, which crashes when others
 * write to them. False where the system does not show that.
 */
function isPipeToItself(fd: number): boolean {
  const pipe = openFile(String(fd))
  if (pipe?.startsWith('pipe:') !== true) return false
  return readdirSync('/proc/self/fd').some(
    (other) => openFile(other) === pipe && accessMode(Number(other)) === constants.O_RDONLY,
  )
}

function openFile(fd: string): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return undefined
  }
}

function isPipeOrDevice(found: Stats): boolean {
  return found.isFIFO() || found.isCharacterDevice()
}
