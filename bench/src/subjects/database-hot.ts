/**
 * One hot lock: `database-hot.js SUBJECT URL CONNECTIONS` starts four processes of sixteen loops
 * each.
 */
import { runHot } from '../hot.js'
import { makeLocker } from './database-lockers.js'

const [subject = 'cohort', url = '', connections = '16'] = process.argv.slice(2)
await runHot(() => makeLocker(subject, url, Number(connections)))
