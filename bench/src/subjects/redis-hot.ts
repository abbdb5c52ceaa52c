/**
 * One hot lock: `redis-hot.js SUBJECT PORT WORK_MS LOOPS` starts four processes of that many loops
 * each. The subject `work` is the work alone, without a lock: no lock can let in more than it
 * allows.
 */
import { runHot } from '../hot.js'
import { redisMeter } from '../server-cpu.js'
import { work } from '../work.js'
import { makeLocker } from './redis-lockers.js'

/** Shorter than elsewhere: there are many subjects. */
const RUN_MS = 2000

const [subject = '', portText = '', workMs = '', loops = ''] = process.argv.slice(2)
const port = Number(portText)
if (subject === 'work') await runAlone(Number(workMs))
else {
  await runHot(() => makeLocker(subject, port), {
    workMs: Number(workMs),
    loops: Number(loops),
    runMs: RUN_MS,
    meter: redisMeter(port),
  })
}

async function runAlone(forMs: number): Promise<void> {
  const endMs = performance.now() + RUN_MS
  let pairs = 0
  for (; performance.now() < endMs; pairs += 1) await work(forMs)
  console.log(JSON.stringify({ pairs: pairs / (RUN_MS / 1000) }))
}
