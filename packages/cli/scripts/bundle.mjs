// Bundles the command line and the library into few files: `holdfast run` stands before every
// command that it guards, and Node needs time for each file.
//
// run.cjs       `holdfast run` on the embedded store, alone: CommonJS starts sooner than modules
// holdfast.js   all commands, and the parts that they load when they are called
//
// All lie in one folder, since some load others beside themselves.
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const dist = fileURLToPath(new URL('../dist', import.meta.url))

const common = {
  outdir: dist,
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  // Names stay: the names of error classes are made from them.
  minifySyntax: true,
  minifyWhitespace: true,
  // The user of a store installs its client.
  external: ['@photostructure/sqlite', 'ioredis', 'mysql2', 'pg', 'redis'],
  logLevel: 'warning',
  // The library imports some files only to have them at hand.
  logOverride: { 'ignored-bare-import': 'silent' },
}

for (const file of readdirSync(dist)) {
  if (file.startsWith('common-')) rmSync(join(dist, file))
}

await build({
  ...common,
  format: 'esm',
  entryPoints: {
    holdfast: join(dist, 'main.js'),
    'holdfast-servers': join(dist, 'servers.js'),
    'holdfast-commands': join(dist, 'commands/loaded-later.js'),
  },
  splitting: true,
  chunkNames: 'common-[hash]',
})

/** Files of rare calls that a run never makes. */
const NEVER_CALLED =
  /\/(at-least|detector|election-candidate|export-and-adopt|follow-capacity|lease-terms|look-up|multi-acquirer|observe|once-per-tick|steal|transaction)\.js$/

/** Leaves these files out where they are imported with the first such call. */
const withoutRareCalls = {
  name: 'without rare calls',
  setup({ onResolve }) {
    onResolve({ filter: NEVER_CALLED }, ({ path, kind }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    )
  },
}

await build({
  ...common,
  format: 'cjs',
  minify: true,
  entryPoints: { run: join(dist, 'run-main.js') },
  outExtension: { '.js': '.cjs' },
  define: { 'import.meta.url': 'HERE' },
  banner: { js: 'const HERE=require("node:url").pathToFileURL(__filename).href;' },
  // A run uses little of these modules, and Node takes long to load them.
  alias: {
    'node:crypto': join(dist, 'fast-start/crypto.js'),
    'node:fs/promises': join(dist, 'fast-start/fs-promises.js'),
    'node:timers/promises': join(dist, 'fast-start/timers-promises.js'),
  },
  inject: [join(dist, 'fast-start/performance.js')],
  // The other bundle opens the stores on servers, so this import is never reached.
  external: [...common.external, '*/servers.js'],
  plugins: [withoutRareCalls],
})
