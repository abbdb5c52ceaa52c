/** One hot lock: `redis-hot.js SUBJECT PORT WORK_MS` starts four processes of sixteen loops each. */
import { runHot } from '../hot.js'
import { makeLocker } from './redis-lockers.js'

/** Shorter than elsewhere: there are many subjects. */
const RUN_MS = 2000

const [subject = 'cohort', port = '6379', workMs = '0'] = process.argv.slice(2)
await runHot(() => makeLocker(subject, Number(port)), Number(workMs), RUN_MS)
