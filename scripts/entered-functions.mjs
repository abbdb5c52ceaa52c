/**
 * Counts the functions of the library that one uncontended acquire enters, and one release, over a
 * private Redis with ioredis. V8's precise coverage counts every function: getters, constructors,
 * field initialisers and closures too. The second figure counts the steps that a reader follows.
 * These are functions and methods with a name, without getters, field initialisers and the leaves
 * in `clock/` and `collections/`. Timers that fire meanwhile add functions, so the pair with the
 * fewest counts.
 *
 * Usage: node scripts/entered-functions.mjs [--list] [FOLDER]. FOLDER is the built package to
 * measure; the default is packages/holdfast/dist. `--list` prints each function with its file.
 */
import { Session } from 'node:inspector/promises'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Redis } from 'ioredis5'
import { startRedis } from '@holdfast/servers/redis'

const PAIRS = 20

const args = process.argv.slice(2)
const isListed = args.includes('--list')
const root = join(import.meta.dirname, '..')
const dist = resolve(args.find((arg) => arg !== '--list') ?? join(root, 'packages/holdfast/dist'))

const { createLocks } = await import(pathToFileURL(join(dist, 'index.js')).href)
const { redisStore } = await import(pathToFileURL(join(dist, 'stores/redis/index.js')).href)
const server = await startRedis()
const client = new Redis(server.port)
const locks = createLocks(redisStore({ client }))
const lock = locks.mutex('counted')
try {
  // Warm: connections, the script, subscriptions and the first objects of each kind.
  for (let pair = 0; pair < 3; pair += 1) await (await lock.acquire()).release()
  const acquires = []
  const releases = []
  for (let pair = 0; pair < PAIRS; pair += 1) {
    const acquire = await measure(() => lock.acquire())
    const release = await measure(() => acquire.result.release())
    acquires.push(acquire.entered)
    releases.push(release.entered)
  }
  print('acquire', fewest(acquires))
  print('release', fewest(releases))
} finally {
  await locks.close()
  client.disconnect()
  await server.stop()
}

/** Runs `work` under precise coverage. */
async function measure(work) {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await session.post('Profiler.takePreciseCoverage')
  const result = await work()
  const coverage = await session.post('Profiler.takePreciseCoverage')
  await session.post('Profiler.stopPreciseCoverage')
  session.disconnect()
  return { result, entered: enteredOf(coverage.result) }
}

/** The entered functions of the package, apart from the bodies of its modules. */
function enteredOf(scripts) {
  const inside = scripts.filter(({ url }) => url.startsWith(pathToFileURL(dist).href))
  return inside.flatMap(({ url, functions }) =>
    functions
      .filter(({ ranges }) => ranges[0].count > 0 && ranges[0].startOffset > 0)
      .map(({ functionName, ranges }) => ({
        file: relative(dist, fileURLToPath(url)),
        name: functionName === '' ? '(anonymous)' : functionName,
        count: ranges[0].count,
      })),
  )
}

function fewest(lists) {
  return lists.reduce((least, list) => (list.length < least.length ? list : least))
}

function print(verb, entered) {
  const files = new Set(entered.map(({ file }) => file))
  const steps = entered.filter(isStep)
  const stepFiles = new Set(steps.map(({ file }) => file))
  console.log(
    `${verb}: ${entered.length} functions in ${files.size} files, ` +
      `of which ${steps.length} are steps in ${stepFiles.size} files`,
  )
  if (!isListed) return
  for (const { file, name, count } of entered) console.log(`  ${file} ${name} ${count}`)
}

function isStep({ file, name }) {
  return !/^(get |\(|<)/.test(name) && !/^(clock|collections)\//.test(file)
}
