/**
 * The streams that the command line writes to. Node opens each at its first use, which takes a
 * millisecond; `holdfast run` mostly writes to none.
 *
 * Failures of stdout are kept: a listing that was cut off must not pass for a whole one.
 */
import { constants, fstatSync, statSync, writeSync } from 'node:fs'
import { accessMode } from './access-mode.js'

let openedStdout: NodeJS.WriteStream | undefined
let openedStderr: NodeJS.WriteStream | undefined
/** The first failure; Node forgets it after a later write. */
let failure: NodeJS.ErrnoException | null = null

export function stdout(): NodeJS.WriteStream {
  if (openedStdout === undefined) {
    openedStdout = process.stdout
    openedStdout.on('error', (error) => (failure ??= error))
    // Node writes to a file once and ignores a short count, which a disk that is nearly full
    // returns.
    // oxlint-disable-next-line no-underscore-dangle -- the name that Node gives to what a stream writes with
    if (isFile(process.stdout.fd)) openedStdout._write = writeAll
  }
  return openedStdout
}

/**
 * Whether stdout was closed when this process began. Node opens /dev/null in its place, for reading
 * and writing; a shell opens it for writing alone. False where the system does not show that.
 */
export function isClosedStdout(): boolean {
  try {
    const { rdev } = statSync('/dev/null', { bigint: true })
    return fstatSync(1, { bigint: true }).rdev === rdev && accessMode(1) === constants.O_RDWR
  } catch {
    return false
  }
}

/** Writes to stdout. Resolves with why it could not, a reader that has gone included. */
export function written(text: string): Promise<Error | undefined> {
  return new Promise((resolve) => {
    stdout().write(text, (error) => resolve(error ?? undefined))
  })
}

export function stderr(): NodeJS.WriteStream {
  if (openedStderr === undefined) {
    openedStderr = process.stderr
    // A failure of stderr cannot be reported.
    openedStderr.on('error', () => {})
  }
  return openedStderr
}

export function stdoutFailure(): NodeJS.ErrnoException | null {
  return failure ?? openedStdout?.errored ?? null
}

/** Resolves when both streams have written all. `exit()` would cut off the rest of a pipe. */
export async function flushed(): Promise<void> {
  for (const stream of [openedStdout, openedStderr]) {
    if (stream === undefined || stream.writableLength === 0) continue
    await new Promise<void>((resolve) => {
      stream.write('', () => resolve())
    })
  }
}

function writeAll(
  chunk: Buffer,
  _encoding: BufferEncoding,
  done: (error?: Error | null) => void,
): void {
  try {
    for (let at = 0; at < chunk.length;) at += writeSync(process.stdout.fd, chunk, at)
    done()
  } catch (error) {
    done(error as Error)
  }
}

function isFile(fd: number): boolean {
  try {
    // As a bigint: Node keeps the last answer of the other kind, and resolves no link to a module
    // while that is "pipe".
    return fstatSync(fd, { bigint: true }).isFile()
  } catch {
    // It cannot be looked at. The first write fails.
    return false
  }
}
