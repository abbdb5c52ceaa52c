// Bundles the command line into three files. `holdfast run` stands before every command that it
// guards, and Node needs time for each file.
//
// run.cjs        `holdfast run` on the embedded store, alone
// holdfast.cjs   all commands; a part that is required late also runs late
// guardian.cjs   the guardian of a run, where no shell can be it
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const path = (relative) => fileURLToPath(new URL(`../${relative}`, import.meta.url))

const common = {
  outdir: path('dist/bin'),
  outExtension: { '.js': '.cjs' },
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'cjs',
  // The user of a store installs its client.
  external: ['@photostructure/sqlite', 'ioredis', 'mysql2', 'pg', 'redis'],
  logLevel: 'warning',
}

await build({
  ...common,
  entryPoints: { holdfast: path('src/cli/main.ts') },
  // Names stay, for stack traces.
  minifySyntax: true,
  minifyWhitespace: true,
})

await build({
  ...common,
  entryPoints: {
    run: path('src/cli/run-main.ts'),
    guardian: path('src/cli/supervise/node-guardian.ts'),
  },
  minify: true,
  // Each module of Node that is not loaded shortens the start.
  alias: { 'node:crypto': path('src/cli/light/crypto.ts') },
  inject: [path('src/cli/light/performance.ts')],
  // The other bundle opens the stores on servers, so this file is never required.
  external: [...common.external, '*/servers.js'],
})
