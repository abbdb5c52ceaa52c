/**
 * Free locks in one process: `database-free.js SUBJECT URL LOOPS`, each loop on a lock of its own,
 * with as many connections.
 */
import { runFree, SLOW_WARM_UP_MS } from '../free.js'
import { makeLocker } from './database-lockers.js'

const [subject = 'cohort', url = '', loops = '1'] = process.argv.slice(2)
/** Some thousand pairs, in each of ten subjects and six rounds. */
const RUN_MS = 1500

await runFree(makeLocker(subject, url, Number(loops)), Number(loops), {
  runMs: RUN_MS,
  warmUpMs: SLOW_WARM_UP_MS,
  garbage: subject === 'cohort',
})
