// Measures how much longer `holdfast run NAME -- true` takes than `node -e 0`, with the Node that
// runs this script. The floor is a program that does the least that any such command must do. It
// opens SQLite, takes and releases one lock by a few statements, spawns `true` and waits for it.
//
//   node scripts/startup.mjs            25 rounds, each program once a round
//   node scripts/startup.mjs --check    exits with 1 when the limit is exceeded
//   npx -y -p node@24 node scripts/startup.mjs
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROUNDS = Number(process.env['ROUNDS'] ?? 25)
const LIMIT_MS = 45
/** A floor above this moves the limit: to the floor plus `OVER_FLOOR_MS`. */
const HIGH_FLOOR_MS = 35
const OVER_FLOOR_MS = 10

const repository = fileURLToPath(new URL('..', import.meta.url))
const command =
  process.env['HOLDFAST_BIN'] ?? join(repository, 'packages/holdfast/bin/holdfast.cjs')
const folder = mkdtempSync(join(tmpdir(), 'holdfast-startup-'))
const floor = join(folder, 'floor.cjs')

writeFileSync(
  floor,
  `
const { spawn } = require('node:child_process')
const emitWarning = process.emitWarning
process.emitWarning = () => {}
const engine = process.getBuiltinModule('node:sqlite') ??
  require(${JSON.stringify(join(repository, 'node_modules/@photostructure/sqlite'))})
process.emitWarning = emitWarning
const db = new engine.DatabaseSync(${JSON.stringify(join(folder, 'floor.db'))})
db.exec('PRAGMA journal_mode = wal; PRAGMA synchronous = normal')
db.exec('CREATE TABLE IF NOT EXISTS locks (name TEXT PRIMARY KEY, owner TEXT, token INTEGER)')
db.exec('BEGIN IMMEDIATE')
db.prepare('SELECT owner FROM locks WHERE name = ?').all('job')
db.prepare('INSERT OR REPLACE INTO locks VALUES (?, ?, ?)').run('job', 'me', 1)
db.exec('COMMIT')
spawn('true', { stdio: 'inherit' }).on('exit', () => {
  db.exec('BEGIN IMMEDIATE')
  db.prepare('DELETE FROM locks WHERE name = ?').run('job')
  db.exec('COMMIT')
  db.close()
})
`,
)

const PROGRAMS = {
  'node -e 0': ['-e', '0'],
  floor: [floor],
  'holdfast run': [command, 'run', 'job', '--', 'true'],
}

const env = {
  ...process.env,
  HOLDFAST_STORE: `embedded:${join(folder, 'store')}`,
  XDG_CACHE_HOME: join(folder, 'cache'),
}

function measure(args) {
  const startedMs = performance.now()
  const { status, stderr } = spawnSync(process.execPath, args, {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ms = performance.now() - startedMs
  if (status !== 0) throw new Error(`${args.join(' ')} exited with ${status}: ${stderr.toString()}`)
  return ms
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
}

const times = Object.fromEntries(Object.keys(PROGRAMS).map((name) => [name, []]))
try {
  // The first rounds make the state file and fill the caches.
  for (let round = -2; round < ROUNDS; round += 1) {
    for (const [name, args] of Object.entries(PROGRAMS)) {
      const ms = measure(args)
      if (round >= 0) times[name].push(ms)
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}

// The programs of one round ran under the same load, so their differences are compared.
const over = (name) => median(times[name].map((ms, round) => ms - times['node -e 0'][round]))
const limit = over('floor') > HIGH_FLOOR_MS ? over('floor') + OVER_FLOOR_MS : LIMIT_MS
console.log(`Node ${process.versions.node}, ${ROUNDS} rounds, medians`)
for (const name of Object.keys(PROGRAMS)) {
  const extra = name === 'node -e 0' ? '' : `, ${over(name).toFixed(1)} ms more than node -e 0`
  console.log(`  ${name.padEnd(14)}${median(times[name]).toFixed(1).padStart(7)} ms${extra}`)
}
const within = over('holdfast run') <= limit
console.log(`  limit ${limit.toFixed(1)} ms: ${within ? 'kept' : 'exceeded'}`)
if (!within && process.argv.includes('--check')) process.exitCode = 1
