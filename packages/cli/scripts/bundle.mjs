// Bundles the command line and the library under it into few files. `holdfast run` stands before
// every command that it guards, and Node takes its time over each file it loads: two start much
// sooner than eighty, or than twenty. What needs a server is a file of its own, since most of the
// library is for that. All lie in one folder, since some look for others beside themselves.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url))
const dist = path('../dist')

const common = {
  outdir: dist,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  // Names stay: the names of error classes are made from them.
  minifySyntax: true,
  minifyWhitespace: true,
  // Whoever uses a store brings its client.
  external: ['@photostructure/sqlite', 'ioredis', 'mysql2', 'pg', 'redis'],
  logLevel: 'warning',
}

// Three files: what every command needs, what only those on servers need, and what both have in
// common.
await build({
  ...common,
  entryPoints: { holdfast: join(dist, 'main.js'), 'holdfast-servers': join(dist, 'servers.js') },
  splitting: true,
  chunkNames: 'holdfast-common',
})
