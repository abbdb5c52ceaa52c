// Measures how long a free lock takes beside many waiters on one Redis server. Some waiters hold
// nothing, and others hold a lock each outside the wait. The third kind holds a lock around the
// wait, so the client searches deadlocks for it.
//
//   npm run build && node scripts/free-lock.mjs
//   ROUNDS=3 WAITERS=3000 node scripts/free-lock.mjs
//
// A loader process has 12 clients. The clock runs in this process.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createLocks } from 'holdfast'
import { openStore } from 'holdfast/url'

const ROUNDS = Number(process.env['ROUNDS'] ?? 5)
const WAITERS = Number(process.env['WAITERS'] ?? 6000)
const CLIENTS = 12
const HOT_LOCKS = 100
const WINDOW_MS = 5_000
/** Until the attempts of all waiters have been answered. */
const SETTLE_MS = 3_000
const KINDS = ['hold nothing', 'hold a lock apart', 'hold a lock around']
/** Half of the waiters end while the clock runs, or none does. */
const CASES = [false, true].flatMap((ending) => KINDS.map((kind) => ({ kind, ending })))

const self = fileURLToPath(import.meta.url)
if (process.argv[2] === 'load') await load(JSON.parse(process.argv[3] ?? ''))
else await measureAll()

/**
 * Opens the waiters, and reports when all of them wait. The parent ends this process.
 * @param {{ url: string, kind: string, ending: boolean, first: string }} order
 */
async function load({ url, kind, ending, first }) {
  const stores = await Promise.all(Array.from({ length: CLIENTS }, () => openStore(url)))
  const clients = stores.map((store) => createLocks(store))
  let begun = 0
  process.once('message', () => process.exit(0))
  await Promise.all(Array.from({ length: WAITERS }, (_, index) => wait(index)))

  /** @param {number} index */
  async function wait(index) {
    const locks = clients[index % CLIENTS]
    const hot = locks.mutex(`${first}:hot:${index % HOT_LOCKS}`)
    const ends = ending && index % 2 === 0
    const work = () => {
      begun += 1
      if (begun === WAITERS) process.send?.('waiting')
      return hot.tryAcquire({ waitMs: ends ? SETTLE_MS + Math.random() * WINDOW_MS : Infinity })
    }
    if (kind === 'hold nothing') return work()
    const nested = kind === 'hold a lock around'
    return locks.mutex(`${first}:own:${index}`).run(() => (nested ? work() : locks.detached(work)))
  }
}

async function measureAll() {
  const { startRedis } = await import('@holdfast/servers/redis')
  const server = await startRedis()
  const rounds = []
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      const p99s = []
      for (const order of CASES) {
        p99s.push(await measure(server.url, { ...order, first: `${round}:${p99s.length}` }))
        console.log(`${titleOf(order)}  p99 ${p99s.at(-1).toFixed(1)} ms`)
      }
      rounds.push(p99s)
    }
  } finally {
    await server.stop()
  }
  report(rounds)
}

function titleOf({ kind, ending }) {
  return `waiters that ${kind}${ending ? ', half of them end' : ''}`.padEnd(52)
}

async function measure(url, order) {
  const locks = createLocks(await openStore(url))
  const holders = Array.from({ length: HOT_LOCKS }, (_, index) =>
    locks.mutex(`${order.first}:hot:${index}`).acquire(),
  )
  await Promise.all(holders)
  const loader = fork(self, ['load', JSON.stringify({ url, ...order })])
  await once(loader, 'message')
  await setTimeout(SETTLE_MS)
  const times = []
  const endMs = performance.now() + WINDOW_MS
  while (performance.now() < endMs) {
    const startMs = performance.now()
    await (await locks.mutex('free').acquire()).release()
    times.push(performance.now() - startMs)
  }
  loader.send('end')
  await once(loader, 'exit')
  await locks.close({ graceMs: 0 })
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]
}

/** The cases of one round ran under the same load, so their ratios are compared. */
function report(rounds) {
  console.log(
    `\n${WAITERS} waiters, ${ROUNDS} rounds, medians of p99 over that beside 'hold nothing'`,
  )
  for (const [index, order] of CASES.entries()) {
    const plain = order.ending ? KINDS.length : 0
    const ratios = rounds.map((p99s) => p99s[index] / p99s[plain]).toSorted((a, b) => a - b)
    console.log(`${titleOf(order)}  ${ratios[Math.floor(ROUNDS / 2)].toFixed(2)}`)
  }
}
