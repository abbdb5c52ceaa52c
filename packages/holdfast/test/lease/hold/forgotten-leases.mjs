// Forgets one lease, keeps others, collects garbage, and writes what was announced as JSON.
// Time is virtual: a lease must be collected after a third of its TTL and before its end, however
// slow the machine is.
import { setTimeout as sleep } from 'node:timers/promises'
import { VirtualClock } from 'holdfast/testing'
import { createLocks, onLockEvent } from 'holdfast'
import { memoryStore } from 'holdfast/memory'

const traceAcquires = process.argv[2] === 'trace'
const clock = new VirtualClock()
const store = memoryStore({ clock })
const locks = createLocks(store, { clock, ttlMs: 3000, traceAcquires })
const OTHERS = ['fixed', 'limited', 'overstayed']
const events = []
const warnings = []
onLockEvent('forgotten', (event) => void events.push(event))
const losses = []
onLockEvent('lost', ({ lock, reason }) => void losses.push(`${lock}: ${reason}`))
process.on('warning', ({ name, code, message }) => warnings.push({ name, code, message }))

const signals = []
const ended = { lease: await locks.mutex('ended').acquire({ renew: false, ttlMs: 700 }) }
const kept = await locks.mutex('kept').acquire()
/** Acquires leases, and drops their handles. */
async function forgetLeases() {
  await locks.mutex('forgotten').acquire()
  await locks.semaphore('permit', { permits: 2 }).acquire()
  signals.push((await locks.mutex('signal').acquire()).signal)
  await (await locks.mutex('released').acquire()).release()
  await locks.mutex('fixed').acquire({ renew: false, ttlMs: 6000 })
  await locks.mutex('limited').acquire({ maxHoldMs: 60_000 })
  await locks.mutex('overstayed').acquire({ ttlMs: 1500, maxHoldMs: 1200 })
  void locks.mutex('run').run(() => new Promise(() => undefined))
  void (await locks.mutex('inner run').acquire()).run(() => new Promise(() => undefined))
}

/** Collects garbage until `count` leases were announced, `rounds` times at most. */
async function collect(count, rounds = 2000) {
  for (let round = 0; events.length < count && round < rounds; round += 1) {
    globalThis.gc()
    await sleep(5)
  }
}

await forgetLeases()
// After a third of all TTLs but the one of `fixed`, and before `maxHoldMs` of `overstayed`.
await clock.advance(1100)
// A lease that has ended is not announced.
ended.lease = undefined
await collect(4)
await clock.advance(1000)
await collect(5)
// The TTL of `overstayed` has ended, and the one of `fixed` has not.
await clock.advance(1000)
await collect(6, 20)
const other = createLocks(store, { clock })
const free = []
for (const name of [
  'forgotten',
  'signal',
  'run',
  'inner run',
  'kept',
  'released',
  'ended',
  ...OTHERS,
]) {
  if (await other.mutex(name).tryAcquire()) free.push(name)
}
await kept.release()
await locks.close({ graceMs: 0 })
const isFreed = (await other.mutex('forgotten').tryAcquire()) !== undefined
process.stdout.write(JSON.stringify({ events, warnings, free, isFreed, losses }))
