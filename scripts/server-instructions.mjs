// Counts the instructions of a Redis server for a pair of acquire and release, by callgrind. Other
// work on the machine does not change the count. Needs valgrind.
//
//   npm run build && node scripts/server-instructions.mjs              verrou and Holdfast
//   node scripts/server-instructions.mjs verrou cohort redlock         these subjects
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { makeLocker } from '../bench/dist/subjects/redis-lockers.js'

const PAIRS = 1280
const IN_FLIGHT = [1, 64]
const WARM_UP_ROUNDS = 100
const START_MS = 120_000
const REQUEST_TIMEOUT_MS = 300_000

const subjects = process.argv.length > 2 ? process.argv.slice(2) : ['verrou', 'cohort']
const folder = mkdtempSync(join(tmpdir(), 'holdfast-instructions-'))
const port = await freePort()
const server = startServer()
process.on('exit', () => {
  server.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})
await listening()
for (const inFlight of IN_FLIGHT) {
  for (const subject of subjects) {
    const instructions = await count(subject, inFlight)
    console.log(`${subject}, ${inFlight} in flight: ${instructions} instructions a pair`)
  }
}
process.exit(0)

function startServer() {
  const counting = ['--tool=callgrind', '--instr-atstart=no', `--callgrind-out-file=${folder}/out`]
  const settings = ['--port', String(port), '--save', '', '--hz', '1', '--dir', folder]
  const child = spawn('valgrind', [...counting, 'redis-server', ...settings], { stdio: 'ignore' })
  child.on('error', () => {
    console.error(
      'This script needs valgrind and redis-server: apt-get install valgrind redis-server',
    )
    process.exit(1)
  })
  return child
}

/**
 * Resolves to the instructions of the server for one pair.
 * @param {string} subject
 * @param {number} inFlight
 */
async function count(subject, inFlight) {
  const make = makeLocker(subject, port, REQUEST_TIMEOUT_MS)
  const locks = Array.from({ length: inFlight }, (_, index) => make(`${subject} ${index}`))
  const rounds = PAIRS / inFlight
  // Alone at first: the server compiles the scripts.
  await run(locks.slice(0, 1), 4)
  await run(locks, Math.max(4, WARM_UP_ROUNDS / inFlight))
  control('-i', 'on')
  await run(locks, rounds)
  control('-i', 'off')
  const before = new Set(readdirSync(folder))
  control('-d')
  const dumps = readdirSync(folder).filter((file) => !before.has(file))
  const totals = dumps.map((file) => instructionsIn(join(folder, file)))
  return Math.round(totals.reduce((sum, total) => sum + total, 0) / PAIRS)
}

/**
 * Returns what was counted, without what the server does by the clock: on a busy machine the run
 * takes longer.
 * @param {string} path
 */
function instructionsIn(path) {
  const text = execFileSync('callgrind_annotate', ['--inclusive=yes', path], { encoding: 'utf8' })
  const [total = 0, cron = 0] = [/ PROGRAM TOTALS$/m, /:serverCron /].map((what) => {
    const line = text.split('\n').find((each) => what.test(each)) ?? '0'
    return Number(line.trim().split(' ')[0]?.replaceAll(',', ''))
  })
  return total - cron
}

/**
 * @param {ReturnType<ReturnType<typeof makeLocker>>[]} locks
 * @param {number} rounds
 */
async function run(locks, rounds) {
  const loops = locks.map(async (acquire) => {
    for (let round = 0; round < rounds; round += 1) await (await acquire())()
  })
  await Promise.all(loops)
}

/** @param {string[]} what */
function control(...what) {
  execFileSync('callgrind_control', [...what, String(server.pid)], { stdio: 'ignore' })
}

async function freePort() {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const address = listener.address()
  listener.close()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

async function listening() {
  for (const end = Date.now() + START_MS; ;) {
    const socket = connect(port, '127.0.0.1')
    try {
      await once(socket, 'connect')
      return
    } catch (error) {
      if (Date.now() > end) throw error
      await setTimeout(100)
    } finally {
      socket.destroy()
    }
  }
}
