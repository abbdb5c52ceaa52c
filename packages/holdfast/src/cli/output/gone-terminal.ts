/** A terminal that goes away under the program: its window was closed, or its connection ended. */
import { closeSync, fstatSync } from 'node:fs'
import { isatty } from 'node:tty'

/**
 * Closes the standard files of a terminal that has gone. Older Node restores terminals at its end,
 * and aborts where that fails (https://github.com/nodejs/node/pull/58200).
 */
export function closeGoneTerminal(): void {
  for (const fd of [0, 1, 2]) {
    if (isDevice(fd) && !isatty(fd)) closeSync(fd)
  }
}

/** Also true for /dev/null, which may be closed as well. */
function isDevice(fd: number): boolean {
  try {
    return fstatSync(fd).isCharacterDevice()
  } catch {
    // It is closed already.
    return false
  }
}
