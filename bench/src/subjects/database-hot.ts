/**
 * One hot lock: `database-hot.js SUBJECT URL CONNECTIONS` starts four processes of sixteen loops
 * each.
 */
import { runHot } from '../hot.js'
import { makeLocker } from './database-lockers.js'

/** Shorter than elsewhere: there are many subjects. */
const RUN_MS = 2000
const WARM_UP_MS = 3000

const [subject = 'cohort', url = '', connections = '16'] = process.argv.slice(2)
await runHot(() => makeLocker(subject, url, Number(connections)), {
  runMs: RUN_MS,
  warmUpMs: WARM_UP_MS,
})
