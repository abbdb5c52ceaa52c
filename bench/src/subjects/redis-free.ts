/**
 * Free locks in one process: `redis-free.js SUBJECT PORT LOOPS`, each loop on a lock of its own.
 */
import { runFree } from '../free.js'
import { makeLocker } from './redis-lockers.js'

/** Shorter than elsewhere: there are many subjects. */
const RUN_MS = 1500

const [subject = 'cohort', port = '6379', loops = '64'] = process.argv.slice(2)
await runFree(makeLocker(subject, Number(port)), Number(loops), RUN_MS)
