// Forgets one lease, keeps others, collects garbage, and writes what was announced as JSON.
import { createLocks, onLockEvent } from 'holdfast'
import { memoryStore } from 'holdfast/memory'

const traceAcquires = process.argv[2] === 'trace'
const store = memoryStore()
const locks = createLocks(store, { ttlMs: 3000, traceAcquires })
const OTHERS = ['fixed', 'limited', 'overstayed']
const events = []
const warnings = []
onLockEvent('forgotten', (event) => void events.push(event))
const losses = []
onLockEvent('lost', ({ lock, reason }) => void losses.push(`${lock}: ${reason}`))
process.on('warning', ({ name, code, message }) => warnings.push({ name, code, message }))

const signals = []
let ended = await locks.mutex('ended').acquire({ renew: false, ttlMs: 700 })
setTimeout(() => (ended = ended.held), 1000)
const kept = await locks.mutex('kept').acquire()
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
await forgetLeases()
const untilMs = Date.now() + 10_000
while (Date.now() < untilMs && (events.length < 5 || Date.now() < untilMs - 6500)) {
  await new Promise((resolve) => setTimeout(resolve, 20))
  globalThis.gc()
}
const other = createLocks(store)
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
