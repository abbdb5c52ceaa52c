/**
 * Runs a job once on many nodes. Each node starts it by its own clock, a little early or late. So
 * the lock stays taken for longer than all clocks differ, and a node that comes late finds it busy.
 */
import { join } from 'node:path'
import { createLocks } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'

const [folder = '.', clocksDifferMs = '1000'] = process.argv.slice(2)
const locks = createLocks(embeddedStore({ directory: join(folder, 'locks') }))

const { ran } = await locks.oncePerTick('nightly', () => console.log('the nightly job runs here'), {
  atLeastMs: Number(clocksDifferMs),
})
if (!ran) console.log('another node is at it, or has just been')

await locks.close()
