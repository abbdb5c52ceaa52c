// A tour of what a lock can do beside `run`, on a folder or on a server:
// node examples/tour.mjs /tmp/tour, or node examples/tour.mjs redis://localhost
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createLocks, onLockEvent } from 'holdfast'
import { openStore } from 'holdfast/url'

const [where = '.'] = process.argv.slice(2)
const url = /^\w+:/.test(where) ? where : `embedded:${join(where, 'locks')}`
const store = await openStore(url)
const locks = createLocks(store, { label: 'tour', namespace: `tour-${process.pid}` })
const show = (what, ...values) => console.log(`${what}:`, ...values)

show('the store answers', (await locks.ping()).latencyMs > 0)

// The terms of one lease: fixed, for three seconds, after a wait of a second at most.
const order = locks.mutex('order')
const lease = await order.tryAcquire({ waitMs: 1_000, ttlMs: 3_000, renew: false })
await lease.renew({ ttlMs: 10_000 })
await lease.ensure(8_000) // before a step that must not be interrupted
show('a long step is safe', lease.remainingMs > 8_000)
show('in a log', Object.keys(JSON.parse(JSON.stringify(lease))).join())

// Another process continues under the same token.
const handle = await lease.export()
await locks.renewHandle(handle)
const adopted = await order.adopt(handle)
show('adopted with its token', adopted.token === lease.token, await adopted.release())

// A run that does not wait for the answer to its release.
const next = (event) => new Promise((resolve) => void onLockEvent(event, resolve))
const released = next('released')
await locks.mutex('quick').run(() => 'sent', { awaitRelease: false })
show('released behind the run', (await released).outcome)

// The answer to a renewal is late: the lease is at risk, and safe when it comes.
const renew = store.renew.bind(store)
store.renew = (...renewals) => pause(1_500).then(() => renew(...renewals))
const slow = await locks.mutex('slow').acquire({ ttlMs: 6_000 })
const answers = ['at-risk', 'safe'].map(next)
await pause(4_000)
show('at risk', (await answers[0]).lock === slow.name)
show('safe again', (await answers[1]).lock === slow.name, await slow.release())
store.renew = renew

// A lease whose handle is gone is announced, and kept.
setFlagsFromString('--expose-gc')
const forgotten = next('forgotten')
await locks.mutex('lost').acquire({ ttlMs: 6_000 })
const collectGarbage = runInNewContext('gc')
const collecting = setInterval(() => collectGarbage(), 50)
show('forgotten', (await forgotten).lock.split(':').at(-1))
clearInterval(collecting)

// A signal that leaves time to stop while the lock is still held.
const print = await order.acquire({ ttlMs: 1_000, renew: false, abortBeforeMs: 300 })
const stopped = await pause(5_000, 'late', print).catch(({ cause }) => cause.name)
show('stop in time', stopped, print.held, await print.release())

// Code deep inside finds the lease that it runs under.
await order.run((own) =>
  show('found', locks.current('order') === own, locks.assertHeld('order').held),
)

// Two replicas whose clocks differ work once in a tick.
const tick = () => locks.oncePerTick('report', () => 'made', { atLeastMs: 2_000 })
show('first replica', (await tick()).value)
show('second replica', (await tick()).holder.owner.label)
await locks.mutex('invoice').run(() => 'sent', { atLeastMs: 2_000 })
const late = await locks
  .mutex('invoice')
  .acquire({ waitMs: 1_000 })
  .catch((error) => error)
show('still taken', late.code, late.holders[0].owner.label)

// The leader works, and any process sees it.
const election = locks.election('scheduler')
async function firstToken() {
  for await (const { leader, token } of election.observe()) if (leader) return token
  return undefined
}
const seen = firstToken()
show('leader seen', await election.lead(async ({ token }) => token === (await seen)))

// A rolling deploy from two permits to four.
const before = await locks.semaphore('gpu', { permits: 2 }).acquire({ weight: 2 })
const gpu = locks.semaphore('gpu', { permits: 4, onMismatch: 'follow' })
show('no third permit yet', (await gpu.inspect()).freePermits, await before.release())
show('all four later', await gpu.run(({ held }) => held, { weight: 4 }))

// A queue that is full, and two runs that wait for each other.
async function settle(calls) {
  const ends = await Promise.allSettled(calls)
  show('ended', ...ends.map(({ value, reason }) => value ?? reason.code).toSorted())
}
const short = locks.mutex('short', { maxWaiters: 1 })
const busy = await short.acquire()
setTimeout(() => void busy.release(), 50)
await settle([short.run(() => 'served'), short.run(() => 'served')])
const both = (one, other) => one.run(() => pause(50).then(() => other.run(() => 'done')))
const [a, b] = [locks.mutex('a'), locks.mutex('b')]
await settle([both(a, b), both(b, a)])
await locks.close() // and with them the store and its client
