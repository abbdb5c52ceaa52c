// Bundles the lab with what it takes from the repository: private servers and broken locks.
// `holdfast` and the client libraries stay outside. Splitting keeps each client library in a file
// that is loaded only when it is used.
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url))

rmSync(path('../dist/bundle'), { recursive: true, force: true })
await build({
  outdir: path('../dist/bundle'),
  entryPoints: { lab: path('../dist/command/lab.js'), worker: path('../dist/worker.js') },
  bundle: true,
  splitting: true,
  // All files lie in one folder: the conductor looks for the worker beside itself.
  chunkNames: '[name]-[hash]',
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  minifySyntax: true,
  minifyWhitespace: true,
  external: ['holdfast', '@photostructure/sqlite', 'ioredis', 'mysql2', 'pg'],
  logLevel: 'warning',
})
