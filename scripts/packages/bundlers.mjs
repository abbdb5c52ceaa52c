/** What users bundle: the package in one file of theirs runs as it does outside. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './files.mjs'
import { install } from './projects.mjs'
import { report, run } from './run.mjs'

const PROGRAM = 'bundled.mjs'
const TOOLS = [
  'esbuild@0.28.2',
  'rollup@4.65.0',
  '@rollup/plugin-commonjs@29.0.3',
  '@rollup/plugin-node-resolve@16.0.3',
]

/** Bundles a program with each tool, and runs what it made. */
export async function checkBundlers(folder, tarballs) {
  const project = await install(folder, 'bundlers', [tarballs.holdfast, ...TOOLS])
  writeFileSync(join(project, 'rollup.config.mjs'), ROLLUP)
  cpSync(join(import.meta.dirname, 'fixtures', PROGRAM), join(project, PROGRAM))
  for (const [file, [tool, ...args]] of Object.entries(bundles())) {
    await run('npx', [tool, ...args], { cwd: project })
    const printed = await run(process.execPath, [file], { cwd: project })
    if (printed.trim() !== 'locked') throw new Error(`The bundle of ${tool} printed ${printed}`)
    report(`a bundle of ${tool}, ${file}`)
  }
}

const ROLLUP = `import commonjs from '@rollup/plugin-commonjs'
import resolve from '@rollup/plugin-node-resolve'
export default {
  external: /^node:/,
  plugins: [resolve({ preferBuiltins: true }), commonjs()],
}`

/** Returns the command that makes each bundle. */
function bundles() {
  const esbuild = ['esbuild', PROGRAM, '--bundle', '--platform=node']
  return {
    'esbuild.cjs': [...esbuild, '--format=cjs', '--outfile=esbuild.cjs'],
    'esbuild.mjs': [
      ...esbuild,
      '--format=esm',
      `--banner:js=${documentedBanner()}`,
      '--outfile=esbuild.mjs',
    ],
    'rollup.mjs': ['rollup', '-c', '--silent', '-i', PROGRAM, '-o', 'rollup.mjs'],
  }
}

/** Returns the banner that runtimes.md gives for ES modules of esbuild. */
function documentedBanner() {
  const page = readFileSync(join(ROOT, 'docs/runtimes.md'), 'utf8')
  return /--banner:js="([^"]+)"/.exec(page)[1]
}
