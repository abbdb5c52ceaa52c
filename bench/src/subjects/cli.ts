/** Starts `true` under a lock, or Node alone, again and again: `cli.js run|node [PATH_OF_NODE]`. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { percentile } from '../stats.js'

const [how = 'run', node = process.execPath] = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
const program = fileURLToPath(
  new URL('../../../packages/holdfast/bin/holdfast.cjs', import.meta.url),
)
const args =
  how === 'run'
    ? [program, 'run', 'bench', '--store', `embedded:${folder}`, '--', 'true']
    : ['-e', '0']

const times = Array.from({ length: 15 }, () => {
  const startMs = performance.now()
  const { status } = spawnSync(node, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error(`${how} ended with ${status}`)
  return performance.now() - startMs
})
rmSync(folder, { recursive: true })
console.log(JSON.stringify({ p50Ms: percentile(times.slice(3), 0.5) }))
