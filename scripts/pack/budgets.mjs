/** The size of what users download, and of what they bundle. */
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { join } from 'node:path'
import { BUILD } from './files.mjs'
import { report, run } from './run.mjs'

const MOST_BYTES = 1_000_000
const MOST_FILES = 300
/** Of `import { createLocks } from 'holdfast'`, minified and gzipped. */
const MOST_CORE_BYTES = 36_200

/** @throws Error when the package is larger than its budget. */
export async function checkBudgets() {
  const source = join(BUILD, 'holdfast')
  const [{ unpackedSize, entryCount }] = JSON.parse(
    await run('npm', ['pack', '--dry-run', '--json', '--silent'], { cwd: source }),
  )
  requireAtMost('unpacked bytes', unpackedSize, MOST_BYTES)
  requireAtMost('files', entryCount, MOST_FILES)
  requireAtMost(
    'bytes of createLocks, minified and gzipped',
    await coreBytes(source),
    MOST_CORE_BYTES,
  )
}

async function coreBytes(source) {
  const { outputFiles } = await build({
    stdin: { contents: `export { createLocks } from './index.mjs'`, resolveDir: source },
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    write: false,
  })
  return gzipSync(outputFiles[0].contents, { level: 9 }).length
}

function requireAtMost(what, found, most) {
  if (found > most) throw new Error(`The package has ${found} ${what}: at most ${most}.`)
  report(what, `${found} of ${most}`)
}
