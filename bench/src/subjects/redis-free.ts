/**
 * Free locks in one process: `redis-free.js SUBJECT PORT LOOPS [RUN_MS [WARM_UP_MS]]`, each loop on
 * a lock of its own. Without another run time the garbage of Holdfast and of the floor is counted
 * as well.
 */
import { runFree, SLOW_WARM_UP_MS } from '../free.js'
import { redisMeter } from '../server-cpu.js'
import { makeLocker } from './redis-lockers.js'

/** Shorter than elsewhere: there are many subjects. */
const RUN_MS = 1500

const [subject = 'cohort', port = '6379', loops = '64', runMs, warmUpMs] = process.argv.slice(2)
const isAlone = loops === '1' && runMs === undefined
await runFree(makeLocker(subject, Number(port)), Number(loops), {
  runMs: Number(runMs ?? RUN_MS),
  ...(warmUpMs === undefined ? {} : { warmUpMs: Number(warmUpMs) }),
  ...(isAlone ? { warmUpMs: SLOW_WARM_UP_MS } : {}),
  garbage: ['cohort', 'floor'].includes(subject) && runMs === undefined,
  meter: redisMeter(Number(port)),
})
