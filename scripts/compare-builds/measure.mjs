/**
 * `measure.mjs CASE TURNS BUILD …`: prints the processor time of a pair of acquire and release in
 * microseconds, for each turn and in it for each build.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { STORES } from './stores.mjs'

/** How much processor time a turn takes, in microseconds. */
const TURN_US = 25_000
const WARM_UP_TURNS = 4

/** One build, with the callers that use its locks. */
class Side {
  #work
  #callers
  /** How many pairs fill a turn, from what earlier turns took. */
  #pairs = 200

  constructor(locks, way, callers) {
    this.#callers = callers
    const mutexes = Array.from({ length: callers }, (_, index) =>
      locks.mutex(way === 'hot' ? 'compared' : `compared:${index}`),
    )
    this.#work = mutexes.map((mutex) =>
      way === 'run'
        ? () => mutex.run(() => undefined)
        : async () => (await mutex.acquire()).release(),
    )
  }

  /** Returns the processor time of a pair in one turn, in microseconds. */
  async turn() {
    const each = Math.max(1, Math.round(this.#pairs / this.#callers))
    const before = process.cpuUsage()
    await Promise.all(
      this.#work.map(async (work) => {
        for (let pair = 0; pair < each; pair += 1) await work()
      }),
    )
    const { user, system } = process.cpuUsage(before)
    const time = (user + system) / (each * this.#callers)
    this.#pairs = TURN_US / time
    return time
  }
}

const [name = '', turns, ...builds] = process.argv.slice(2)
const [kind, callers = '1'] = name.split(':')
const [store, way = 'acquire'] = kind.split('-')
const { open, stop } = await STORES[store]()
const sides = []
for (const [index, dist] of builds.entries()) {
  const load = (path) => import(pathToFileURL(join(dist, path)).href)
  const { createLocks } = await load('index.js')
  const locks = createLocks(await open(load, index))
  sides.push(new Side(locks, way, Number(callers)))
}
for (let turn = 0; turn < WARM_UP_TURNS; turn += 1) for (const side of sides) await side.turn()
const times = []
for (let turn = 0; turn < Number(turns); turn += 1) {
  const pair = [0, 0]
  for (const index of turn % 2 === 0 ? [0, 1] : [1, 0]) pair[index] = await sides[index].turn()
  times.push(pair)
}
await new Promise((resolve) => process.stdout.write(JSON.stringify(times), resolve))
await stop()
process.exit()
