/** Programs that esbuild bundles, with a worker that renews. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Format } from 'esbuild'
import { expect, test } from 'vitest'
import { after } from '../../../../../../test/support/after.js'

const MODULES = fileURLToPath(new URL('../../../../../../node_modules', import.meta.url))
/** As the page says: docs/how-to/cpu-bound-work.md. */
const EXTERNAL = ['holdfast', 'holdfast/*']

/** What CommonJS modules need in a bundle of ES modules. */
const REQUIRE = `
import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)
`

/** It holds a lock while its event loop is blocked for three TTLs, and prints what became of it. */
const PROGRAM = `
import { createLocks, onLockEvent } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'

async function main() {
  onLockEvent('helper-lost', ({ error }) => console.log('helper-lost', error))
  const store = embeddedStore({ directory: process.argv[2] })
  const options = { ttlMs: 2000, renewFrom: 'worker', blockedAtMostMs: 60_000 }
  const locks = createLocks(store, options)
  await locks.mutex('warm').run(() => new Promise((resolve) => setTimeout(resolve, 2000)))
  await locks.mutex('a').run((lease) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6000)
    console.log(lease.held ? 'held' : 'lost')
  })
  await locks.close()
}
main().catch((error) => console.log(error.name + ': ' + error.message))
`

/** Bundles the program and runs the bundle. Returns what it prints. */
async function runBundle(format: Format, external: string[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bundle-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  symlinkSync(MODULES, join(folder, 'node_modules'))
  const program = join(folder, 'program.js')
  writeFileSync(program, PROGRAM)
  const outfile = join(folder, format === 'esm' ? 'out.mjs' : 'out.cjs')
  await build({
    ...{ entryPoints: [program], outfile, format, external, bundle: true },
    ...{ platform: 'node', logLevel: 'silent' },
    ...(format === 'esm' ? { banner: { js: REQUIRE } } : {}),
  })
  const state = join(folder, 'state')
  const { stdout, stderr } = spawnSync(process.execPath, [outfile, state], { encoding: 'utf8' })
  return stdout.trim() || stderr
}

test.each(['esm', 'cjs'] as const)(
  'a bundle (%s) without Holdfast in it finds the worker in the package',
  async (format) => {
    expect(await runBundle(format, EXTERNAL)).toBe('held')
  },
)

test.each(['esm', 'cjs'] as const)(
  'a bundle (%s) with Holdfast in it is refused, with the way out',
  async (format) => {
    expect(await runBundle(format, [])).toMatch(
      /^LockUsageError: renewFrom: 'worker' finds no .*mark holdfast and holdfast\/\* as external/,
    )
  },
)
