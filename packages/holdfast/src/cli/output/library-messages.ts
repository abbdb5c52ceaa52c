/**
 * Keeps what client libraries and Node print by themselves. It would stand between the lines of a
 * command, break the promise of `--json`, and make a crontab send mail. `doctor` shows it.
 */
import { format } from 'node:util'

const METHODS = ['log', 'info', 'warn', 'error', 'debug', 'trace'] as const
/** A library may repeat itself with every request. */
const MOST = 20

const kept = new Set<string>()

export function keepLibraryMessages(): void {
  // Without a listener of its own, Node prints its warnings.
  process.removeAllListeners('warning')
  process.on('warning', ({ name, message }) => keep(`${name}: ${message}`))
  for (const method of METHODS) {
    console[method] = (...values: unknown[]) => keep(format(...values))
  }
}

export function libraryMessages(): readonly string[] {
  return [...kept]
}

function keep(text: string): void {
  if (kept.size < MOST) kept.add(text.replaceAll(/\s+/g, ' ').trim())
}
