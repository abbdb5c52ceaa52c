/**
 * One process on the embedded store: `embedded-alone.js LOOPS`, each on a lock of its own, or
 * `verbs`.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLocks } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'
import { CAPACITY_ALL } from 'holdfast/store'
import { measureGarbage } from '../garbage.js'

const [how = '64'] = process.argv.slice(2)
const directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
const store = embeddedStore({ directory })
const PAIRS = 40_000

async function throughLocks(pairs: number, loops: number): Promise<void> {
  let left = pairs
  await Promise.all(
    Array.from({ length: loops }, async (_, index) => {
      const mutex = locks.mutex(`bench ${index}`)
      while (left-- > 0) {
        const lease = await mutex.acquire()
        await lease.release()
      }
    }),
  )
}

async function throughVerbs(pairs: number): Promise<void> {
  for (let index = 0; index < pairs; index += 1) {
    const claim = {
      lock: 'bench',
      id: `bench.${index}.${performance.now()}`,
      kind: 'mutex',
      capacity: CAPACITY_ALL,
      weight: CAPACITY_ALL,
      ttlMs: 30_000,
      heartbeatMs: 1000,
      owner: { clientId: 'bench', host: 'here', pid: process.pid },
    } as const
    await store.attempt(claim, { enqueue: true, tokens: 1 })
    await store.withdraw(claim)
  }
}

const locks = createLocks(store)
const run = (pairs: number): Promise<void> =>
  how === 'verbs' ? throughVerbs(pairs) : throughLocks(pairs, Number(how))
await run(PAIRS / 4)
const cpuBefore = process.cpuUsage()
const startMs = performance.now()
await run(PAIRS)
const pairs = (PAIRS / (performance.now() - startMs)) * 1000
const { user, system } = process.cpuUsage(cpuBefore)
const clientUs = (user + system) / PAIRS
const garbage = await measureGarbage(() => run(PAIRS).then(() => PAIRS))
await locks.close()
rmSync(directory, { recursive: true })
console.log(JSON.stringify({ pairs, clientUs, ...garbage }))
