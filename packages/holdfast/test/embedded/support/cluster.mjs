/**
 * A worker of a cluster that takes the lock `a`, lets itself be disconnected from the primary, and
 * works on. `node cluster.mjs DIRECTORY CLAIM` prints what its attempt was answered and the
 * worker's pid, once it is disconnected.
 */
import cluster from 'node:cluster'
import { writeSync } from 'node:fs'
import { embeddedStore } from 'holdfast/embedded'

if (cluster.isPrimary) {
  cluster.fork()
} else {
  const [directory, claim] = process.argv.slice(2)
  const { outcome } = await embeddedStore({ directory }).attempt(JSON.parse(claim), {
    enqueue: false,
    tokens: 1,
  })
  cluster.worker.once('disconnect', () =>
    writeSync(1, JSON.stringify({ outcome, pid: process.pid })),
  )
  // It closes the servers of this worker that the primary listens for.
  cluster.worker.disconnect()
  setInterval(() => undefined, 1000)
}
