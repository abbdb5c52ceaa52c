/**
 * Free locks of the embedded store: `embedded-files.js PROCESSES LOOPS`. Each loop has a lock of
 * its own. HOLDFAST_BENCH_CHECKOUT says which build is measured.
 */
import { createLocks } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'
import { followLeader, leadProcesses, type Run } from '../processes.js'

const [processes = '1', loops = '64', directory] = process.argv.slice(2)

if (directory === undefined) await leadProcesses(import.meta.filename, [processes, loops])
else await work(directory)

async function work(folder: string): Promise<void> {
  const locks = createLocks(embeddedStore({ directory: folder }))
  const run: Run = async (forMs, most) => {
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
  await followLeader(run)
  await locks.close()
  process.disconnect()
}
