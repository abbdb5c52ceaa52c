// Makes one file of the command line and the library under it. `holdfast run` stands before every command that it
// guards, and Node takes its time over each file it loads: one starts much sooner than eighty, or than twenty. The lab is
// big and seldom called: it is a file of its own, and `worker` is what its processes run. All lie in one folder, since
// some look for others beside themselves.
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

const labBeside = {
  name: 'lab-beside',
  setup(build) {
    build.onResolve({ filter: /^\.\/lab\.js$/ }, () => ({ path: './lab-command.js', external: true }))
  },
}

await build({ ...common, entryPoints: { holdfast: join(dist, 'main.js') }, plugins: [labBeside] })
await build({
  ...common,
  entryPoints: { 'lab-command': join(dist, 'commands/lab.js'), worker: path('../../lab/dist/worker.js') },
})
