/**
 * A program over one store, which shows how long it lives.
 *
 * Its argument is JSON: `{ name, library, at, scene }`. It prints a line of JSON for each step. The
 * scenes:
 *
 * - `pending`: waits for a lock, leads an election, and closes. Nothing else keeps the process
 *   alive but the clients of the store. Then it prints what is left.
 * - `held`: waits for a lock, holds it, ends the client of the store, and reaches its end.
 * - `client-first`: ends the client of the store first, and then releases and closes.
 * - `client-before-waiter`: ends the client of the store while a caller waits, then closes.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { createLocks } from 'holdfast'
import { loadModule, loadStore } from '@holdfast/stores/load'

const { name: storeName, library, at, scene } = JSON.parse(process.argv[2])
const startMs = performance.now()
const { service } = await loadStore(storeName)
const { store, ready, ...clients } = await service.open(at, { library, load: loadModule })
const end = async () => (clients.quit ?? clients.end)()
await ready?.()
const locks = createLocks(store, { ttlMs: 5000 })
const name = `life-${process.pid}`

function print(step, more) {
  process.stdout.write(`${JSON.stringify({ step, atMs: performance.now() - startMs, ...more })}\n`)
}

/** Takes a lock that another caller releases soon, by a timer that Node does not wait for. */
async function waitFor(lock) {
  const before = await lock.acquire()
  setTimeout(() => void before.release(), 300).unref()
  return lock.acquire()
}

switch (scene) {
  case 'pending': {
    // A queue of its own, so that the second caller waits in the store.
    const lease = await waitFor(locks.mutex(name, { renew: false }))
    print('granted')
    const rival = await locks.mutex(`${name}-leader`).acquire()
    setTimeout(() => void rival.release(), 300).unref()
    await locks.election(`${name}-leader`).lead(() => print('leads'))
    print(await lease.release())
    await locks.mutex(`${name}-left`).acquire()
    await new Promise((started) => {
      const forever = () => new Promise(() => started())
      void locks.mutex(`${name}-run`).run(forever)
    })
    await locks.close({ graceMs: 50 })
    await end()
    print('closed')
    await pause(100, undefined, { ref: true })
    print('left', { resources: resources() })
    break
  }
  case 'held': {
    const lease = await waitFor(locks.mutex(name, { renew: false }))
    await locks.mutex(`${name}-renewed`).acquire()
    print('held', { held: lease.held })
    const ended = end()
    // With mysql2 this waits while one connection sleeps for waiters.
    if (!service.endsAfterWaits) await ended
    break
  }
  case 'client-first': {
    const lease = await locks.mutex(name).acquire()
    await locks.mutex(`${name}-second`).acquire()
    print('held', { held: lease.held })
    await end()
    print('ended')
    print(await lease.release().catch(({ code }) => code))
    print(
      await locks
        .mutex(name)
        .acquire()
        .then(
          () => 'granted',
          ({ code }) => code,
        ),
    )
    await locks.close()
    print('closed')
    break
  }
  case 'client-before-waiter': {
    // By then the store listens for grants.
    await waitFor(locks.mutex(name, { renew: false }))
    const waiting = locks.mutex(name).acquire()
    const code = waiting.then(
      () => 'granted',
      (error) => error.code,
    )
    while (service.showsWaiters !== false && !(await isWaitedFor(name))) await pause(10)
    print('ends')
    const ended = end().then(() => print('ended'))
    print(await code)
    await ended
    await locks.close()
    print('closed')
    break
  }
}

async function isWaitedFor(lock) {
  const state = await locks.mutex(lock).inspect()
  return state !== undefined && state.waiters.length > 0
}

/** What keeps the process alive, besides its output. */
function resources() {
  const own = new Set(['PipeWrap', 'TTYWrap', 'Pipe', 'Timeout', 'FSReqCallback', 'FSReqPromise'])
  return process.getActiveResourcesInfo().filter((resource) => !own.has(resource))
}
