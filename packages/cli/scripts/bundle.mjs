// Makes few files of the command line and the library under it. `holdfast run` stands before every command that it
// guards, and Node needs about 0.3 ms for each file it loads: a handful starts 25 to 30 ms sooner than eighty. What only
// one command needs is a file of its own, above all the lab, which is big and seldom called; `worker` is what its
// processes run. All lie in one folder, since some look for others beside themselves.
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url))
const dist = path('../dist')

// Their names change with what is in them.
for (const name of readdirSync(dist))
  if (/^chunk-.*\.js$|-[A-Z0-9]{8}\.js$/.test(name)) rmSync(join(dist, name))

await build({
  entryPoints: { holdfast: join(dist, 'main.js'), worker: path('../../lab/dist/worker.js') },
  outdir: dist,
  chunkNames: 'chunk-[name]-[hash]',
  splitting: true,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  // Names stay: the names of error classes are made from them.
  minifySyntax: true,
  minifyWhitespace: true,
  // Whoever uses a store brings its client.
  external: ['@grpc/grpc-js', '@photostructure/sqlite', 'ioredis', 'mysql2', 'pg', 'redis'],
  logLevel: 'warning',
})
