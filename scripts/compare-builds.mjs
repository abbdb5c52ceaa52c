/**
 * Compares the processor time for each pair of acquire and release between two builds of the
 * package, in alternating rounds. Each measurement is a process of its own. The time is that of the
 * client process, which a busy machine changes less than the time by the clock.
 *
 *   node scripts/compare-builds.mjs OLD [NEW]      folders of built packages: …/dist
 *   ROUNDS=21 CASES=memory,redis:16 node scripts/compare-builds.mjs OLD
 */
import { execFileSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROUNDS = Number(process.env['ROUNDS'] ?? 15)
const CASES = (process.env['CASES'] ?? 'memory,memory-run,redis:16,redis:64').split(',')
/** How many pairs are timed, and as many before that. */
const PAIRS = { memory: 400_000, 'memory-run': 200_000, redis: 40_000 }

const self = fileURLToPath(import.meta.url)
if (process.argv[2] === 'measure') await measure(JSON.parse(process.argv[3] ?? ''))
else await compare(process.argv.slice(2))

/** @param {string[]} folders */
async function compare([old, next = join(import.meta.dirname, '../packages/holdfast/dist')]) {
  if (old === undefined) throw new Error('Usage: node scripts/compare-builds.mjs OLD [NEW]')
  const builds = [resolve(old), resolve(next)]
  const { startRedis } = await import('@holdfast/servers/redis')
  const server = await startRedis()
  try {
    for (const name of CASES) report(name, rounds(name, builds, server.port))
  } finally {
    await server.stop()
  }
}

/** Returns the microseconds of both builds, round by round. The first one of a round alternates. */
function rounds(name, builds, port) {
  return Array.from({ length: ROUNDS }, (_, round) => {
    const order = round % 2 === 0 ? [0, 1] : [1, 0]
    const times = [0, 0]
    for (const index of order) times[index] = timeOf({ name, dist: builds[index], port })
    return times
  })
}

function timeOf(task) {
  const args = [self, 'measure', JSON.stringify(task)]
  return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }))
}

function report(name, times) {
  const ratios = times.map(([old, next]) => next / old)
  const [old, next] = [0, 1].map((index) => median(times.map((pair) => pair[index])))
  const sorted = ratios.toSorted((a, b) => a - b)
  const quartiles = [0.25, 0.75].map((share) => sorted[Math.floor(share * (ROUNDS - 1))])
  console.log(
    `${name.padEnd(12)} ${old.toFixed(2)} → ${next.toFixed(2)} µs a pair, ` +
      `median of ${ROUNDS} rounds ${percent(median(ratios))}, ` +
      `quartiles ${quartiles.map(percent).join(' and ')}`,
  )
}

function percent(ratio) {
  return `${((ratio - 1) * 100).toFixed(1)}%`
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
}

/** Prints the processor time of one pair, in microseconds. */
async function measure({ name, dist, port }) {
  const [kind, flights = '1'] = name.split(':')
  const load = (path) => import(pathToFileURL(join(dist, path)).href)
  const { createLocks } = await load('index.js')
  const store =
    kind === 'redis'
      ? await redis(load, port)
      : (await load('stores/memory/index.js')).memoryStore()
  const locks = createLocks(store)
  const works = Array.from({ length: Number(flights) }, (_, index) => {
    const mutex = locks.mutex(`compared:${index}`)
    if (kind === 'memory-run') return () => mutex.run(() => undefined)
    return async () => (await mutex.acquire()).release()
  })
  const pairs = PAIRS[kind] / works.length
  const repeat = async (work) => {
    for (let pair = 0; pair < pairs; pair += 1) await work()
  }
  await Promise.all(works.map(repeat))
  const before = process.cpuUsage()
  await Promise.all(works.map(repeat))
  const { user, system } = process.cpuUsage(before)
  console.log((user + system) / (pairs * works.length))
  process.exit()
}

async function redis(load, port) {
  const { Redis } = await import('ioredis6')
  return (await load('stores/redis/index.js')).redisStore({ client: new Redis(port) })
}
