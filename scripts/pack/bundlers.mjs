/** What users bundle: the package in one file of theirs runs as it does outside. */
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { install } from './projects.mjs'
import { report, run } from './run.mjs'

const PROGRAM = 'bundled.mjs'
const TOOLS = [
  'esbuild@0.28.2',
  'rollup@4.65.0',
  '@rollup/plugin-commonjs@29.0.3',
  '@rollup/plugin-node-resolve@16.0.3',
]

/** Bundles one program with each tool, and runs the file that it made. */
export async function checkBundlers(folder, tarballs) {
  const project = await install(folder, 'bundlers', [tarballs.holdfast, ...TOOLS])
  cpSync(join(import.meta.dirname, 'fixtures', PROGRAM), join(project, PROGRAM))
  // Rollup wraps CommonJS files and indents them; esbuild has no `require` in an ES module.
  writeFileSync(
    join(project, 'rollup.config.mjs'),
    `import commonjs from '@rollup/plugin-commonjs'
import resolve from '@rollup/plugin-node-resolve'
export default {
  input: '${PROGRAM}',
  output: { file: 'rollup.mjs' },
  external: /^node:/,
  plugins: [resolve({ preferBuiltins: true }), commonjs()],
}`,
  )
  const esbuild = [PROGRAM, '--bundle', '--platform=node', '--format=esm', '--outfile=esbuild.mjs']
  const rollup = ['-c', '--silent']
  for (const [tool, args] of Object.entries({ esbuild, rollup })) {
    await run('npx', [tool, ...args], { cwd: project })
    const printed = await run(process.execPath, [`${tool}.mjs`], { cwd: project })
    if (printed.trim() !== 'locked') throw new Error(`The bundle of ${tool} printed ${printed}`)
    report(`a bundle of ${tool}`)
  }
}
