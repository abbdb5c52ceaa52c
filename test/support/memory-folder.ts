/**
 * Gives the tests a temporary folder in memory. Servers wait for the disk at each write. The writes
 * of a killed process outlive it in memory as well. Only the power failure of a machine would show
 * a difference, and no test has one.
 */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
} from 'node:fs'
import { freemem } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
/** What the servers of some test files that run at the same time need. */
const NEEDED_BYTES = 4 * 2 ** 30

/** Vitest calls this before the first test file, and what it returns after the last. */
export default function setup(): (() => void) | undefined {
  const reason = whyNot()
  if (reason !== undefined) {
    console.log(`The tests keep their files on disk, which takes longer: ${reason}.`)
    return undefined
  }
  const folder = mkdtempSync(join(MEMORY, 'holdfast-'))
  // Some servers run as users of their own.
  chmodSync(folder, 0o1777)
  process.env['TMPDIR'] = folder
  const templates = join(folder, 'templates')
  mkdirSync(templates)
  process.env['HOLDFAST_TEMPLATES'] = templates
  return () => rmSync(folder, { recursive: true, force: true })
}

function whyNot(): string | undefined {
  if (process.env['TMPDIR'] !== undefined) return 'TMPDIR is set'
  if (!existsSync(MEMORY)) return `there is no ${MEMORY}`
  const { bavail, bsize } = statfsSync(MEMORY)
  if (Math.min(bavail * bsize, freemem()) < NEEDED_BYTES)
    return `${MEMORY} or the memory has too little room`
  const mount = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .find((line) => line.split(' ')[1] === MEMORY)
  if (mount?.includes('noexec') === true) return `${MEMORY} runs no programs`
  return undefined
}
