/**
 * Free locks of the embedded store: `embedded-files.js PROCESSES LOOPS`. Each loop has a lock of
 * its own. HOLDFAST_BENCH_CHECKOUT says which build is measured.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLocks } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'

const MEASURED_MS = 1200
const SETTLE_MS = 100
/** Fewer leave some of a pair's code to be compiled: in time, four processes on two cores have fewer. */
const WARM_UP_PAIRS = 15_000
const [processes = '1', loops = '64', folder] = process.argv.slice(2)

if (folder === undefined) await measure()
else await work(folder)

async function measure(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  const children = Array.from({ length: Number(processes) }, () =>
    fork(import.meta.filename, [processes, loops, directory], { execArgv: process.execArgv }),
  )
  const exits = children.map((child) => once(child, 'exit'))
  await Promise.all(children.map((child) => once(child, 'message')))
  for (const child of children) child.send('go')
  const counts = await Promise.all(children.map((child) => once(child, 'message')))
  await Promise.all(exits)
  rmSync(directory, { recursive: true })
  const totals = counts.map(([count]) => count as [pairs: number, cpuUs: number])
  const pairs = totals.reduce((sum, [its]) => sum + its, 0)
  const cpuUs = totals.reduce((sum, [, its]) => sum + its, 0)
  console.log(JSON.stringify({ pairs: (pairs / MEASURED_MS) * 1000, cpuUsPerPair: cpuUs / pairs }))
}

async function work(directory: string): Promise<void> {
  const locks = createLocks(embeddedStore({ directory }))
  await run(locks, Infinity, WARM_UP_PAIRS)
  process.send?.('ready')
  await once(process, 'message')
  await run(locks, SETTLE_MS)
  const before = process.cpuUsage()
  const pairs = await run(locks, MEASURED_MS)
  const { user, system } = process.cpuUsage(before)
  process.send?.([pairs, user + system])
  await locks.close()
  process.disconnect()
}

async function run(
  locks: ReturnType<typeof createLocks>,
  forMs: number,
  most = Infinity,
): Promise<number> {
  const endMs = performance.now() + forMs
  let pairs = 0
  await Promise.all(
    Array.from({ length: Number(loops) }, async (_, index) => {
      const mutex = locks.mutex(`${process.pid} ${index}`)
      while (performance.now() < endMs && pairs < most) {
        const lease = await mutex.acquire()
        await lease.release()
        pairs += 1
      }
    }),
  )
  return pairs
}
