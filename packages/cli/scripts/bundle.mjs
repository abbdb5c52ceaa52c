// Bundles the command line and the library into three files. `holdfast run` stands before every
// command that it guards; Node needs time for each file, and less for CommonJS than for modules.
//
// run.cjs        `holdfast run` on the embedded store, alone
// guardian.cjs   the guardian of a run, where no shell can be it
// holdfast.cjs   all commands; a part that is imported later also runs later
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const dist = fileURLToPath(new URL('../dist', import.meta.url))

const common = {
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'cjs',
  define: { 'import.meta.url': 'HERE' },
  banner: { js: 'const HERE=require("node:url").pathToFileURL(__filename).href;' },
  // The user of a store installs its client.
  external: ['@photostructure/sqlite', 'ioredis', 'mysql2', 'pg', 'redis'],
  logLevel: 'warning',
  // The library imports some files only to have them at hand.
  logOverride: { 'ignored-bare-import': 'silent' },
}

await build({
  ...common,
  entryPoints: [join(dist, 'main.js')],
  outfile: join(dist, 'holdfast.cjs'),
  // Names stay: the names of error classes are made from them.
  minifySyntax: true,
  minifyWhitespace: true,
})

/** Files of rare calls that a run never makes. */
const NEVER_CALLED =
  /\/(at-least|election-candidate|export-and-adopt|follow-capacity|lease-terms|load-once|look-up|multi-acquirer|observe|store-calls|transaction)\.js$/

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
  entryPoints: [join(dist, 'run-main.js')],
  outfile: join(dist, 'run.cjs'),
  minify: true,
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

await build({
  ...common,
  entryPoints: [join(dist, 'supervise/node-guardian.js')],
  outfile: join(dist, 'guardian.cjs'),
  minify: true,
})
