/**
 * A service whose locks Prometheus watches: one of its instances leads, and all take turns at a
 * report.
 *
 *   HOLDFAST_STORE=redis://localhost PORT=9464 node service.mjs
 */
import { createServer } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { createLocks, isLockError } from 'holdfast'
import { exportPrometheus } from 'holdfast/prometheus'
import { openStore } from 'holdfast/url'

const store = await openStore(process.env['HOLDFAST_STORE'] ?? 'redis://localhost')
const locks = createLocks(store, { ttlMs: 6_000 })
const metrics = exportPrometheus(locks)
const stopping = new AbortController()
const { signal } = stopping

const server = createServer((request, response) => {
  if (request.url !== '/metrics') response.writeHead(404).end()
  else response.setHeader('Content-Type', metrics.contentType).end(metrics.text())
})
server.listen(Number(process.env['PORT'] ?? 9464), () => {
  console.log(`listening on ${server.address().port}`)
})

process.once('SIGTERM', () => stopping.abort())
await Promise.all([schedule(), ...[1, 2, 3].map(() => report())])
await locks.close()
server.close()

/** Leads while it can: until the leadership is lost, and then again. */
async function schedule() {
  try {
    await locks.election('scheduler').lead((lease) => untilAborted(lease.signal), { signal })
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** Makes the report over and over again, one worker of all instances at a time. */
async function report() {
  while (!signal.aborted) {
    try {
      await locks.mutex('report').run((lease) => work(lease.signal), { signal })
    } catch (error) {
      if (signal.aborted) return
      // The next turn makes the report again.
      if (!isLockError(error)) throw error
      console.log(error.message)
    }
  }
}

async function work(lost) {
  await setTimeout(1_000 + 4_000 * Math.random(), undefined, {
    signal: AbortSignal.any([lost, signal]),
  })
}

function untilAborted(ended) {
  return new Promise((resolve) => {
    ended.addEventListener('abort', resolve, { once: true })
  })
}
