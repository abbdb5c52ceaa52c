// Makes one file of the command line and the library under it. `holdfast run` stands before every command that it
// guards, and Node needs about 0.3 ms for each file it loads: one file starts 25 to 30 ms sooner than eighty.
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url))

await build({
  entryPoints: [path('../dist/main.js')],
  outfile: path('../dist/holdfast.js'),
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  // Names stay: the names of error classes are made from them.
  minifySyntax: true,
  minifyWhitespace: true,
  external: ['@grpc/grpc-js', '@photostructure/sqlite', 'ioredis', 'mysql2', 'pg'],
  logLevel: 'warning',
})
