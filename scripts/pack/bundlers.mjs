/** What users bundle: the package in one file of theirs runs as it does outside. */
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { install } from './projects.mjs'
import { report, run } from './run.mjs'

const PROGRAMS = { 'bundled.mjs': 'locked', 'rare-calls.mjs': 'all calls made' }
const TOOLS = [
  'esbuild@0.28.2',
  'rollup@4.65.0',
  '@rollup/plugin-commonjs@29.0.3',
  '@rollup/plugin-node-resolve@16.0.3',
]

/** Bundles each program with each tool, in one file and in several, and runs what it made. */
export async function checkBundlers(folder, tarballs) {
  const project = await install(folder, 'bundlers', [tarballs.holdfast, ...TOOLS])
  // Rollup wraps CommonJS files and indents them; esbuild has no `require` in an ES module.
  writeFileSync(join(project, 'rollup.config.mjs'), ROLLUP)
  for (const [program, expected] of Object.entries(PROGRAMS)) {
    cpSync(join(import.meta.dirname, 'fixtures', program), join(project, program))
    for (const [name, [tool, ...args]] of Object.entries(bundlesOf(program))) {
      await run('npx', [tool, ...args], { cwd: project })
      const printed = await run(process.execPath, [join(name, program)], { cwd: project })
      if (printed.trim() !== expected) throw new Error(`The bundle of ${name} printed ${printed}`)
      report(`a bundle of ${name}, ${program}`)
    }
  }
}

const ROLLUP = `import commonjs from '@rollup/plugin-commonjs'
import resolve from '@rollup/plugin-node-resolve'
export default {
  external: /^node:/,
  plugins: [resolve({ preferBuiltins: true }), commonjs()],
  output: { entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
}`

/** Returns the command that makes each bundle, in a folder of that name. */
function bundlesOf(program) {
  const esbuild = [
    'esbuild',
    program,
    '--bundle',
    '--platform=node',
    '--format=esm',
    '--out-extension:.js=.mjs',
  ]
  const rollup = ['rollup', '-c', '--silent', '-i', program]
  return {
    esbuild: [...esbuild, '--outdir=esbuild'],
    'esbuild-split': [...esbuild, '--outdir=esbuild-split', '--splitting'],
    rollup: [...rollup, '-d', 'rollup', '--output.inlineDynamicImports'],
    'rollup-split': [...rollup, '-d', 'rollup-split'],
  }
}
