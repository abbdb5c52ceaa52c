/**
 * Whether all of the output got out: who reads a listing that is cut off must not take it for all
 * there is.
 */
import { fstatSync, writeSync } from 'node:fs'

/** The first failure; Node forgets it when a later write gets through, or fails as well. */
let failure: NodeJS.ErrnoException | null = null

export function watchStdout(): void {
  process.stdout.on('error', (error) => (failure ??= error))
  // Node gives a file one write and ignores how much of it was taken: on a disk that is nearly
  // full, not all.
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
    // As a bigint: of the other kind Node keeps the last answer, and resolves no link to a module
    // while that says "pipe".
    return fstatSync(fd, { bigint: true }).isFile()
  } catch {
    // It was closed before we began. The first write will say so.
    return false
  }
}
