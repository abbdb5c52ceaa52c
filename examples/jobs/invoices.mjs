/** A worker that makes invoices, one at a time for each customer: `node invoices.mjs`. */
import { Worker } from 'bullmq'
import { createLocks } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { setTimeout as sleep } from 'node:timers/promises'
import { oneAtATime } from './one-at-a-time.mjs'

const url = process.env.REDIS_URL ?? 'redis://localhost:6379'
const client = new Redis(url)
const locks = createLocks(redisStore({ client }))

async function makeInvoice(job, { signal }) {
  await sleep(50, undefined, { signal })
  console.log(`${job.data.customer}: invoice ${job.data.number}`)
}

const processor = oneAtATime(locks, (job) => `customer:${job.data.customer}`, makeInvoice, {
  againMs: 200,
})
const worker = new Worker('invoices', processor, { connection: { url }, concurrency: 8 })

async function end() {
  await worker.close() // waits for the running jobs
  await locks.close()
  client.disconnect()
}

process.once('SIGTERM', () => void end())
