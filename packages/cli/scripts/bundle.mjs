// Bundles the command line and the library into few files. `holdfast run` stands before every
// command that it guards, and Node needs time for each file: two load sooner than eighty. All lie
// in one folder, since some load others beside themselves.
import { readdirSync, rmSync } from 'node:fs'
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
  // The user of a store installs its client.
  external: ['@photostructure/sqlite', 'ioredis', 'mysql2', 'pg', 'redis'],
  logLevel: 'warning',
}

// What every run needs, the other commands, the stores on servers, and the parts in common.
for (const file of readdirSync(dist)) {
  if (file.startsWith('common-')) rmSync(join(dist, file))
}
await build({
  ...common,
  entryPoints: {
    holdfast: join(dist, 'main.js'),
    'holdfast-servers': join(dist, 'servers.js'),
    'holdfast-commands': join(dist, 'commands/others.js'),
  },
  splitting: true,
  chunkNames: 'common-[hash]',
})
