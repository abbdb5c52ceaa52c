// A tour of what a lock can do beside `run`, on the embedded store and on Redis:
// node --expose-gc examples/tour.mjs embedded:/tmp/tour, or redis://localhost
import { setTimeout as pause } from 'node:timers/promises'
import { createLocks, onLockEvent } from 'holdfast'
import { openStore } from 'holdfast/url'

const store = await openStore(process.argv[2] ?? 'embedded:')
const locks = createLocks(store, { label: 'tour', namespace: `tour-${process.pid}` })
const show = (what, ...values) => console.log(`${what}:`, ...values)
const next = (event) => new Promise((resolve) => void onLockEvent(event, resolve))
const failure = (promise) => promise.catch((error) => error)

show('the store answers', (await locks.ping()).latencyMs > 0)

// The terms of one lease: fixed, for three seconds, after a wait of a second at most.
const order = locks.mutex('order')
const lease = await order.tryAcquire({ waitMs: 1_000, ttlMs: 3_000, renew: false })
await lease.renew({ ttlMs: 10_000 })
await lease.ensure(8_000) // before a step that must not be interrupted
show('a long step is safe', lease.remainingMs > 8_000)
show('in a log', Object.keys(JSON.parse(JSON.stringify(lease))).join())

// Another process continues, with a larger token. A third one has only a handle.
const handle = await lease.export()
await locks.renewHandle(handle)
const adopted = await order.adopt(handle)
show('passed on', adopted.token > lease.token, await locks.releaseHandle(await adopted.export()))

// A run that does not wait for the answer to its release.
const released = next('released')
await locks.mutex('quick').run(() => 'sent', { awaitRelease: false })
show('released behind the run', (await released).outcome)

// Renewals are answered late: the lease is at risk, and then safe. A lost handle is announced.
const renew = store.renew.bind(store)
store.renew = (...renewals) => pause(1_500).then(() => renew(...renewals))
setInterval(() => globalThis.gc?.(), 50).unref()
const events = Promise.all(['at-risk', 'safe', 'forgotten'].map(next))
await locks.mutex('lost').acquire({ ttlMs: 6_000, renew: false })
await locks.mutex('slow').run(() => pause(4_000), { ttlMs: 6_000 })
show('at risk, safe, forgotten', ...(await events).map(({ lock }) => lock.split(':')[1]))
store.renew = renew

// A signal that leaves time to stop while the lock is still held.
const print = await order.acquire({ ttlMs: 1_000, renew: false, abortBeforeMs: 300 })
const { cause } = await failure(pause(5_000, 'late', { signal: print.signal }))
show('stop in time', cause.name, print.held, await print.release())

// Code deep inside finds the lease that it runs under.
await order.run(() => show('found', locks.current('order') === locks.assertHeld('order')))

// Two replicas whose clocks differ work once in a tick.
const tick = () => locks.oncePerTick('report', () => 'made', { atLeastMs: 2_000 })
show('first replica', (await tick()).value)
show('second replica', (await tick()).holder.owner.label)
const invoice = locks.mutex('invoice')
await invoice.run(() => 'sent', { atLeastMs: 2_000 })
const late = await failure(invoice.acquire({ waitMs: 1_000 }))
show('still taken', late.code, late.holders[0].owner.label)

// The leader works, and any process sees it.
const election = locks.election('scheduler')
await election.lead(async ({ token }) => {
  for await (const seen of election.observe()) if (seen.token === token) break
  show('leader seen', election.isLeader)
})

// A rolling deploy from two permits to four.
const before = await locks.semaphore('gpu', { permits: 2 }).acquire({ weight: 2 })
const gpu = locks.semaphore('gpu', { permits: 4, onMismatch: 'follow' })
show('no third permit yet', (await gpu.inspect()).freePermits, await before.release())
show('all four later', await gpu.run(({ held }) => held, { weight: 4 }))

// A queue that is full, and two runs that wait for each other.
const short = locks.mutex('short', { maxWaiters: 1 })
const busy = await short.acquire()
const waiting = short.run(() => 'served')
show('full', (await failure(short.acquire())).code, await busy.release(), await waiting)
const both = (one, other) => one.run(() => pause(50).then(() => other.run(() => 'done')))
const [a, b] = [locks.mutex('a'), locks.mutex('b')]
const ends = await Promise.all([failure(both(a, b)), failure(both(b, a))])
show('each waits for the other', ...ends.map((end) => end.code ?? end).toSorted())
await locks.close() // and with them the store and its client
