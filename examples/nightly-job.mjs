/**
 * Runs a job once on many nodes. Each starts it by its own clock, a little early or late: so the
 * lock is kept for longer than all clocks differ, and a node that comes late finds it busy.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'

const [folder = '.', clocksDifferMs = '1000'] = process.argv.slice(2)
const locks = createLocks(embeddedStore({ directory: join(folder, 'locks') }))

const lease = await locks.mutex('nightly').tryAcquire()
if (!lease) {
  console.log('another node is at it, or has just been')
} else {
  const atLeast = sleep(Number(clocksDifferMs))
  console.log('the nightly job runs here')
  await atLeast
  await lease.release()
}

await locks.close()
