/**
 * The streams that the command line writes to. Node opens each at its first use, which takes a
 * millisecond; `holdfast run` mostly writes to none.
 *
 * Failures of stdout are kept: a listing that was cut off must not pass for a whole one.
 */
import { constants, fstatSync, readFileSync, statSync, writeSync } from 'node:fs'

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
    const flags = /^flags:\s+(\d+)$/m.exec(readFileSync('/proc/self/fdinfo/1', 'latin1'))?.[1]
    const { rdev } = statSync('/dev/null', { bigint: true })
    if (fstatSync(1, { bigint: true }).rdev !== rdev) return false
    return (Number.parseInt(flags ?? '0', 8) & ACCESS_MODE) === constants.O_RDWR
  } catch {
    return false
  }
}

/** O_ACCMODE of open(2). */
const ACCESS_MODE = 3

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
