/** A process of the demo: `process.mjs STORE ROLE LABEL LOCK…`. It ends with the demo. */
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { createLocks } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'

const [directory = '', role = '', label = '', ...names] = process.argv.slice(2)
const HOUR_MS = 3_600_000
const CUSTOMERS = 60

// Ctrl-C reaches all processes of the terminal. The demo ends its own in order.
for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => undefined)
process.once('disconnect', () => process.exit())

const locks = createLocks(embeddedStore({ directory }), { label })
const ROLES = { worker, holder, transfer }
await ROLES[role]()
await locks.close()
process.exit()

/** Works on orders that the other worker wants too, and serves customers of its own. */
async function worker() {
  for (let index = 0; index < CUSTOMERS; index += 1)
    void again(() => locks.mutex(`customer:${process.pid}-${index}`).run(() => pause(HOUR_MS)))
  for (let order = 1; order <= 6; order += 1)
    void again(() => locks.mutex(`order:${order}`).run(() => pause(between(500, 4_000))))
  void again(() => locks.readWriteLock('catalog').read.run(() => pause(between(2_000, 9_000))))
  void again(() => locks.semaphore('gpu', { permits: 3 }).run(() => pause(between(3_000, 9_000))))
  void again(() => locks.mutex('report:daily').run(() => pause(1_000)))
  await again(() => locks.election('scheduler').lead(() => pause(HOUR_MS)))
}

/** Takes a lock and keeps it. After a kill of the demo it ends what does not end by itself. */
async function holder() {
  process.once('message', (pids) => {
    process.prependOnceListener('disconnect', () => pids.forEach(endProcess))
  })
  await locks.mutex(names[0]).run(() => pause(HOUR_MS))
}

/** Takes the first lock, and waits for the second one once the demo allows it. */
async function transfer() {
  const [from, to] = names.map((name) => locks.mutex(name))
  await from.run(
    async () => {
      process.send('holds')
      await once(process, 'message')
      await to.run(() => pause(1_000))
    },
    { ttlMs: HOUR_MS },
  )
}

/** Works again and again. A steal, or the end of a wait, is what an operator wanted. */
async function again(/** @type {() => Promise<unknown>} */ work) {
  for (;;) {
    await work().catch((error) => console.error(`${label}: ${error.message}`))
    await pause(between(200, 1_000))
  }
}

function endProcess(/** @type {number} */ pid) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended before.
  }
}

function between(/** @type {number} */ least, /** @type {number} */ most) {
  return least + Math.random() * (most - least)
}
