/**
 * One hot lock: `redis-hot.js SUBJECT PORT WORK_MS LOOPS [RUN_MS]` starts four processes of that
 * many loops each, which warm up for two run times. The subject `work` is the work alone, without a
 * lock: no lock can let in more than it allows.
 */
import { hotArguments, runHot } from '../hot.js'
import { redisMeter } from '../server-cpu.js'
import { work } from '../work.js'
import { makeLocker } from './redis-lockers.js'

/** Shorter than elsewhere: there are many subjects. */
const RUN_MS = 1500

const [subject = '', portText = '', workMs = '', loops = '', runText] = hotArguments()
const port = Number(portText)
const runMs = Number(runText ?? RUN_MS)
if (subject === 'work') await runAlone(Number(workMs))
else {
  await runHot(() => makeLocker(subject, port), {
    workMs: Number(workMs),
    loops: Number(loops),
    runMs,
    warmUpMs: 2 * runMs,
    meter: redisMeter(port),
  })
}

async function runAlone(forMs: number): Promise<void> {
  const endMs = performance.now() + runMs
  let pairs = 0
  for (; performance.now() < endMs; pairs += 1) await work(forMs)
  console.log(JSON.stringify({ pairs: pairs / (runMs / 1000) }))
}
