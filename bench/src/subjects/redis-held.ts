/**
 * Ten thousand held leases: `redis-held.js PORT`. How much of a core their renewals cost, and
 * whether any was lost.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { createLocks } from 'holdfast'
import { redisStore } from 'holdfast/redis'
import { Redis } from 'ioredis5'

const LEASES = 10_000
const TTL_MS = 30_000
/** Long enough that each lease is renewed four times. */
const RUN_MS = 40_000
/**
 * Each is renewed three times before: code that runs first is slow, and what was needed to begin is
 * collected half a minute later.
 */
const WARM_UP_MS = 31_000

const [port = '6379'] = process.argv.slice(2)
const locks = createLocks(redisStore({ client: new Redis(Number(port)) }), { ttlMs: TTL_MS })
const leases = await Promise.all(
  Array.from({ length: LEASES }, (_, index) => locks.mutex(`held ${index}`).acquire()),
)
await pause(WARM_UP_MS)
const before = process.cpuUsage()
const startMs = performance.now()
await pause(RUN_MS)
const { user, system } = process.cpuUsage(before)
const share = (user + system) / 1000 / (performance.now() - startMs)
console.log(JSON.stringify({ share, lost: leases.filter((lease) => !lease.held).length }))
process.exit(0)
