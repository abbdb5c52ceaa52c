/**
 * Reports output that could not be written: a listing that was cut off must not pass for a whole
 * one.
 */
import { fstatSync, writeSync } from 'node:fs'

/** The first failure; Node forgets it after a later write. */
let failure: NodeJS.ErrnoException | null = null

export function watchStdout(): void {
  process.stdout.on('error', (error) => (failure ??= error))
  // Node writes to a file once and ignores a short count, which a disk that is nearly full returns.
  // oxlint-disable-next-line no-underscore-dangle -- the name that Node gives to what a stream writes with
  if (isFile(process.stdout.fd)) process.stdout._write = writeAll
}

export function stdoutFailure(): NodeJS.ErrnoException | null {
  return failure ?? process.stdout.errored
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
    // It was closed before this process began. The first write fails.
    return false
  }
}
