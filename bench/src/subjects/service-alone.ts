/**
 * One process on a service: `service-alone.js SUBJECT ADDRESS LOOPS`, each loop on a lock of its
 * own. A subject is the name of a store, its floor such as `etcd-floor`, or the peer `etcd3`.
 */
import { Etcd3 } from 'etcd3'
import { openFloor } from '../floors/open-floor.js'
import { SLOW_WARM_UP_MS } from '../free.js'
import { openLocks } from '../service-locks.js'

const [subject = '', address = '', loops = '1'] = process.argv.slice(2)
const RUN_MS = 1500

interface Subject {
  pair(loop: number): Promise<void>
  close(): unknown
}

async function holdfast(): Promise<Subject> {
  const locks = await openLocks(subject, address)
  return {
    async pair(loop) {
      const lease = await locks.mutex(`bench ${loop}`).acquire()
      await lease.release()
    },
    close: () => locks.close(),
  }
}

function etcd3(): Subject {
  const client = new Etcd3({ hosts: address.split(',') })
  return {
    async pair(loop) {
      const lock = client.lock(`bench ${loop}`).ttl(30)
      await lock.acquire()
      await lock.release()
    },
    close: () => client.close(),
  }
}

async function floor(store: string): Promise<Subject> {
  const locker = await openFloor(store, address)
  const acquirers = Array.from({ length: Number(loops) }, (_, loop) => locker(`bench ${loop}`))
  return {
    async pair(loop) {
      const release = await acquirers[loop]?.()
      await release?.()
    },
    close: () => undefined,
  }
}

function open(): Promise<Subject> | Subject {
  if (subject === 'etcd3') return etcd3()
  return subject.endsWith('-floor') ? floor(subject.replace('-floor', '')) : holdfast()
}

async function run(one: Subject, forMs: number): Promise<number> {
  const startMs = performance.now()
  let pairs = 0
  await Promise.all(
    Array.from({ length: Number(loops) }, async (_, loop) => {
      while (performance.now() < startMs + forMs) {
        await one.pair(loop)
        pairs += 1
      }
    }),
  )
  return (pairs / (performance.now() - startMs)) * 1000
}

const one = await open()
await run(one, SLOW_WARM_UP_MS)
console.log(JSON.stringify({ pairs: await run(one, RUN_MS) }))
await one.close()
process.exit(0)
