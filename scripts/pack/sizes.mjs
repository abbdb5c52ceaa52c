/** Prints the size of what users download, and of what they bundle. Nothing is refused for it. */
import { join } from 'node:path'
import { coreSize } from './core-size.mjs'
import { BUILD } from './files.mjs'
import { report, run } from './run.mjs'

export async function reportSizes() {
  const source = join(BUILD, 'holdfast')
  const [{ unpackedSize, entryCount }] = JSON.parse(
    await run('npm', ['pack', '--dry-run', '--json', '--silent'], { cwd: source }),
  )
  const { start, whole } = await coreSize(join(source, 'index.mjs'))
  report('unpacked bytes', unpackedSize)
  report('files', entryCount)
  report('bytes that createLocks loads at its start', start)
  report('bytes of createLocks in one file', whole)
}
