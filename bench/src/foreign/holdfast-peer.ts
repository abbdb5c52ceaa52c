/**
 * Holdfast as a peer among those of other languages, or the floor of a store: `holdfast-peer.js
 * STORE[-fifo|-floor] ADDRESS LOOPS free|hot WARM_UP_MS RUN_MS`. `run-peer.ts` has what it prints.
 */
import { once } from 'node:events'
import { openFloor } from '../floors/open-floor.js'
import { throughLeases } from '../holdfast-locker.js'
import { openLocks } from '../service-locks.js'

const [subject = '', address = '', loops = '1', kind = 'free', warmUpMs = '0', runMs = '0'] =
  process.argv.slice(2)
const [store = '', variant] = subject.split('-')
const locker =
  variant === 'floor'
    ? await openFloor(store, address)
    : throughLeases(
        await openLocks(store, address, variant === 'fifo' ? { fairness: variant } : {}),
      )
const acquirers = Array.from({ length: Number(loops) }, (_, loop) =>
  locker(kind === 'hot' ? 'hot' : `free ${loop}`),
)

console.log('ready')
await once(process.stdin, 'data')
const startMs = performance.now() + Number(warmUpMs)
const endMs = startMs + Number(runMs)
let pairs = 0
await Promise.all(
  acquirers.map(async (acquire) => {
    while (performance.now() < endMs) {
      const release = await acquire()
      await release()
      const nowMs = performance.now()
      if (nowMs > startMs && nowMs < endMs) pairs += 1
    }
  }),
)
console.log(JSON.stringify({ pairs: (pairs / Number(runMs)) * 1000 }))
process.exit(0)
