// Makes one file of the command line and the library under it. `holdfast run` stands before every command that it
// guards, and Node needs about 0.3 ms for each file it loads: one file starts 25 to 30 ms sooner than eighty.
// The lab is big and seldom called, so that it is a file of its own, beside the file that its processes run.
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url))

/** Whoever uses a store brings its client. */
const CLIENTS = ['@grpc/grpc-js', '@photostructure/sqlite', 'ioredis', 'mysql2', 'pg', 'redis']

const common = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  // Names stay: the names of error classes are made from them.
  minifySyntax: true,
  minifyWhitespace: true,
  external: CLIENTS,
  logLevel: 'warning',
}

const labBeside = {
  name: 'lab-beside',
  setup(build) {
    build.onResolve({ filter: /^@holdfast\/lab$/ }, () => ({ path: './lab-bundle/index.js', external: true }))
  },
}

await build({
  ...common,
  entryPoints: [path('../dist/main.js')],
  outfile: path('../dist/holdfast.js'),
  plugins: [labBeside],
})
await build({
  ...common,
  entryPoints: [path('../../lab/dist/index.js'), path('../../lab/dist/worker.js')],
  outdir: path('../dist/lab-bundle'),
})
