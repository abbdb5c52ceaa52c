/**
 * From one process to the next: `embedded-handoff.js release|kill`. A child holds the lock, this
 * process waits for it, and the child lets go (saying when) or is killed. Both read the same
 * monotonic clock.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createLocks } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'
import { percentile } from '../stats.js'

const [how = 'release', directory] = process.argv.slice(2)
if (directory === undefined) await lead()
else await hold(directory)

async function lead(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  const times = how === 'kill' ? await killed(folder) : await released(folder)
  rmSync(folder, { recursive: true })
  console.log(
    JSON.stringify({
      p50Ms: percentile(times, 0.5),
      p99Ms: percentile(times, 0.99),
      maxMs: Math.max(...times),
    }),
  )
}

async function released(folder: string): Promise<number[]> {
  const child = start(folder)
  const mutex = createLocks(embeddedStore({ directory: folder })).mutex('hand')
  const times: number[] = []
  for (let round = 0; round < 300; round += 1) {
    await answer(child, 'hold')
    const waiting = mutex.acquire()
    await pause(5)
    // Listened to from the start: the answer may come before the lease.
    const released = answer(child, 'release')
    const lease = await waiting
    const ownedNs = process.hrtime.bigint()
    const releasedNs = BigInt(await released)
    times.push(Number(ownedNs - releasedNs) / 1e6)
    await lease.release()
  }
  child.kill('SIGKILL')
  return times
}

async function killed(folder: string): Promise<number[]> {
  const mutex = createLocks(embeddedStore({ directory: folder })).mutex('hand')
  const times: number[] = []
  for (let round = 0; round < 15; round += 1) {
    const child = start(folder)
    await answer(child, 'hold')
    const waiting = mutex.acquire()
    await pause(20)
    const killedNs = process.hrtime.bigint()
    child.kill('SIGKILL')
    const lease = await waiting
    times.push(Number(process.hrtime.bigint() - killedNs) / 1e6)
    await lease.release()
  }
  return times
}

async function hold(folder: string): Promise<void> {
  const mutex = createLocks(embeddedStore({ directory: folder })).mutex('hand')
  let lease: Awaited<ReturnType<typeof mutex.acquire>> | undefined
  const obey = async (order: unknown): Promise<void> => {
    if (order === 'hold') {
      lease = await mutex.acquire()
      process.send?.('held')
      return
    }
    const releasedNs = process.hrtime.bigint()
    await lease?.release()
    process.send?.(String(releasedNs))
  }
  process.on('message', (order) => void obey(order))
}

function start(folder: string): ChildProcess {
  return fork(fileURLToPath(import.meta.url), [how, folder], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
}

function answer(child: ChildProcess, order: string): Promise<string> {
  return new Promise((resolve) => {
    child.once('message', (text: string) => resolve(text))
    child.send(order)
  })
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

if (directory === undefined) process.exit(0)
