/** The browser of the tests. */
import { existsSync } from 'node:fs'

const PROGRAMS = ['/usr/bin/chromium', '/usr/bin/chromium-browser']

/** @throws Error when it is not installed. */
export function chromiumProgram(): string {
  const program = PROGRAMS.find((path) => existsSync(path))
  if (program === undefined) throw new Error('There is no Chromium: node scripts/needs.mjs')
  return program
}
