/** Whether the command has to stay in the foreground group of a terminal. */
import { readFileSync } from 'node:fs'
import { isatty } from 'node:tty'

/**
 * Returns whether this process has a terminal, also where stdin is a pipe or a file. A command that
 * asks for a password opens /dev/tty, which a session of its own does not have.
 */
export function isAtTerminal(): boolean {
  return isatty(0) || isInForeground()
}

/** Whether this process is in the foreground group of its terminal. False without /proc. */
function isInForeground(): boolean {
  try {
    const stat = readFileSync('/proc/self/stat', 'latin1')
    const [, , group, , terminal, foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return terminal !== '0' && foreground === group
  } catch {
    return false
  }
}
