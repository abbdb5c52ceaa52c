/**
 * Holdfast as a peer among those of other languages: `holdfast-peer.js STORE[-fifo] ADDRESS LOOPS
 * free|hot WARM_UP_MS RUN_MS`. `run-peer.ts` has what it prints.
 */
import { once } from 'node:events'
import { openLocks } from '../service-locks.js'

const [subject = '', address = '', loops = '1', kind = 'free', warmUpMs = '0', runMs = '0'] =
  process.argv.slice(2)
const [store = '', fairness] = subject.split('-')
const locks = await openLocks(store, address, fairness === 'fifo' ? { fairness } : {})
const mutexes = Array.from({ length: Number(loops) }, (_, loop) =>
  locks.mutex(kind === 'hot' ? 'hot' : `free ${loop}`),
)

console.log('ready')
await once(process.stdin, 'data')
const startMs = performance.now() + Number(warmUpMs)
const endMs = startMs + Number(runMs)
let pairs = 0
await Promise.all(
  mutexes.map(async (mutex) => {
    while (performance.now() < endMs) {
      const lease = await mutex.acquire()
      await lease.release()
      const nowMs = performance.now()
      if (nowMs > startMs && nowMs < endMs) pairs += 1
    }
  }),
)
console.log(JSON.stringify({ pairs: (pairs / Number(runMs)) * 1000 }))
process.exit(0)
