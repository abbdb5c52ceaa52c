/** The size of what users download, and of what they bundle. */
import { join } from 'node:path'
import { coreSize } from './core-size.mjs'
import { BUILD } from './files.mjs'
import { report, run } from './run.mjs'

const MOST_BYTES = 1_000_000
const MOST_FILES = 300
/** Of `import { createLocks } from 'holdfast'`: see core-size.mjs. */
const MOST_START_BYTES = 26_600
const MOST_WHOLE_BYTES = 41_900

/** @throws Error when the package is larger than its budget. */
export async function checkBudgets() {
  const source = join(BUILD, 'holdfast')
  const [{ unpackedSize, entryCount }] = JSON.parse(
    await run('npm', ['pack', '--dry-run', '--json', '--silent'], { cwd: source }),
  )
  requireAtMost('unpacked bytes', unpackedSize, MOST_BYTES)
  requireAtMost('files', entryCount, MOST_FILES)
  const { start, whole } = await coreSize(join(source, 'index.mjs'))
  requireAtMost('bytes that createLocks loads at its start', start, MOST_START_BYTES)
  requireAtMost('bytes of createLocks in one file', whole, MOST_WHOLE_BYTES)
}

function requireAtMost(what, found, most) {
  if (found > most) throw new Error(`The package has ${found} ${what}: at most ${most}.`)
  report(what, `${found} of ${most}`)
}
