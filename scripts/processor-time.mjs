/**
 * Measures the processor time that a pair of acquire and release takes of a Redis server and of its
 * client, beside a peer. Each measurement is a process of its own, and the subjects alternate. The
 * server's time is the scheduler's, in nanoseconds. Other work on the machine lengthens it through
 * the caches, so compare what one round measured.
 *
 *   npm run build && node scripts/processor-time.mjs                   verrou and Holdfast
 *   ROUNDS=21 IN_FLIGHT=64 node scripts/processor-time.mjs verrou cohort fifo
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { measureGarbage } from '../bench/dist/garbage.js'
import { makeLocker } from '../bench/dist/subjects/redis-lockers.js'

const ROUNDS = Number(process.env['ROUNDS'] ?? 15)
const IN_FLIGHT = (process.env['IN_FLIGHT'] ?? '1,64').split(',').map(Number)
/** How many pairs are measured, and as many before that. */
const PAIRS = { alone: 4000, together: 30_000 }
const FIGURES = ['server', 'client', 'garbage']

const self = fileURLToPath(import.meta.url)
if (process.argv[2] === 'measure') await measure(JSON.parse(process.argv[3] ?? ''))
else await compare(process.argv.length > 2 ? process.argv.slice(2) : ['verrou', 'cohort'])

/** @param {string[]} subjects the first one is what the others are compared with */
async function compare(subjects) {
  const { startRedis } = await import('@holdfast/servers/redis')
  const server = await startRedis()
  try {
    for (const inFlight of IN_FLIGHT) report(inFlight, subjects, rounds(subjects, inFlight, server))
  } finally {
    await server.stop()
  }
}

/** Returns the figures of all subjects, round by round. Every other round is run backwards. */
function rounds(subjects, inFlight, { port, pid }) {
  return Array.from({ length: ROUNDS }, (_, round) => {
    const measured = new Map()
    for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) {
      const task = JSON.stringify({ subject, inFlight, port, pid })
      const args = [self, 'measure', task]
      const text = execFileSync(process.execPath, args, { encoding: 'utf8' })
      measured.set(subject, JSON.parse(text))
    }
    return subjects.map((subject) => measured.get(subject))
  })
}

function report(inFlight, subjects, measured) {
  for (const [index, subject] of subjects.entries()) {
    for (const figure of FIGURES) {
      const value = median(measured.map((round) => round[index][figure]))
      const ratios = measured.map((round) => round[index][figure] / round[0][figure])
      const [low, high] = interval(ratios)
      const unit = figure === 'garbage' ? 'kB' : 'µs'
      const compared = `${median(ratios).toFixed(2)}x (${low.toFixed(2)}-${high.toFixed(2)})`
      console.log(
        `${inFlight} in flight  ${subject.padEnd(8)} ${figure.padEnd(8)}` +
          `${value.toFixed(2)} ${unit}  ${index === 0 ? '' : `${compared} of ${subjects[0]}`}`,
      )
    }
  }
}

/** Returns the 95% confidence interval of the median. */
function interval(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const rank = Math.max(0, Math.floor((sorted.length - 1.96 * Math.sqrt(sorted.length)) / 2))
  return [sorted[rank], sorted[sorted.length - 1 - rank]]
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
}

/** Prints the microseconds of both sides, and the kilobytes of garbage of the client, per pair. */
async function measure({ subject, inFlight, port, pid }) {
  const make = makeLocker(subject, port)
  const locks = Array.from({ length: inFlight }, (_, index) => make(`${subject} ${index}`))
  const rounds = Math.ceil((inFlight === 1 ? PAIRS.alone : PAIRS.together) / inFlight)
  const pairs = rounds * inFlight
  const run = async () => {
    const loops = locks.map(async (acquire) => {
      for (let round = 0; round < rounds; round += 1) await (await acquire())()
    })
    await Promise.all(loops)
    return pairs
  }
  const { bytesPerPair } = await measureGarbage(run)
  const before = [serverNanoseconds(pid), process.cpuUsage()]
  await run()
  const { user, system } = process.cpuUsage(before[1])
  const server = (serverNanoseconds(pid) - before[0]) / 1000 / pairs
  const figures = { server, client: (user + system) / pairs, garbage: bytesPerPair / 1000 }
  console.log(JSON.stringify(figures))
  process.exit()
}

/** @param {number} pid */
function serverNanoseconds(pid) {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0])
}
