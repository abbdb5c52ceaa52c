/**
 * Makes each call of a client over a store that keeps no process alive. Prints the calls under
 * which Node would have ended the process.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLocks } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'

const LATENCY_MS = 20
const VERBS = new Set('attempt renew withdraw downgrade adopt steal list inspect close'.split(' '))

const directory = mkdtempSync(join(tmpdir(), 'holdfast-pending-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
const inner = embeddedStore({ directory })
/** As by the connection of a store of its own, for which Node does not wait. */
const travel = () => new Promise((resolve) => void setTimeout(resolve, LATENCY_MS).unref())
const store = new Proxy(inner, {
  get(_, key) {
    const value = inner[key]
    if (typeof value !== 'function') return value
    if (!VERBS.has(key)) return value.bind(inner)
    return async (...args) => {
      await travel()
      const answer = await value.apply(inner, args)
      await travel()
      return answer
    }
  },
})

/** What a call needs. Each has locks of its own. */
function sceneOf(name) {
  const locks = createLocks(store, { ttlMs: 60_000, namespace: name })
  const mutex = locks.mutex('a')
  const two = locks.multi([locks.mutex('left'), locks.mutex('right')])
  const exported = async () => (await mutex.acquire()).export()
  return { locks, mutex, two, election: locks.election('a'), exported }
}

const kept = { atLeastMs: 100 }

const CALLS = {
  acquire: ({ mutex }) => mutex.acquire(),
  tryAcquire: ({ mutex }) => mutex.tryAcquire(),
  run: ({ mutex }) => mutex.run(() => undefined),
  'run with atLeastMs': ({ mutex }) => mutex.run(() => undefined, kept),
  release: async ({ mutex }) => (await mutex.acquire()).release(),
  renew: async ({ mutex }) => (await mutex.acquire()).renew(),
  annotate: async ({ mutex }) => (await mutex.acquire()).annotate({ label: 'noted' }),
  downgrade: async ({ locks }) => (await locks.readWriteLock('a').write.acquire()).downgrade(),
  export: ({ exported }) => exported(),
  adopt: async ({ mutex, exported }) => mutex.adopt(await exported()),
  renewHandle: async ({ locks, exported }) => locks.renewHandle(await exported()),
  releaseHandle: async ({ locks, exported }) => locks.releaseHandle(await exported()),
  'inspect of a lock': ({ mutex }) => mutex.inspect(),
  inspect: ({ locks }) => locks.inspect(),
  ping: ({ locks }) => locks.ping(),
  steal: ({ locks }) => locks.steal('a'),
  oncePerTick: ({ locks }) => locks.oncePerTick('a', () => undefined, kept),
  'oncePerTick with a slot': ({ locks }) =>
    locks.oncePerTick('a', () => undefined, { atLeastMs: 60_000, slot: Date.now() }),
  'oncePerTick on a busy lock': async ({ locks, mutex }) => {
    await mutex.acquire()
    await locks.oncePerTick('a', () => undefined, kept)
  },
  'run of a multi-lock': ({ two }) => two.run(() => undefined),
  'run of a multi-lock with atLeastMs': ({ two }) => two.run(() => undefined, kept),
  singleFlight: ({ locks }) => locks.singleFlight('a').run(() => 1, { read: () => undefined }),
  campaign: ({ election }) => election.campaign(),
  lead: ({ election }) => election.lead(() => undefined),
  resign: async ({ election }) => {
    await election.campaign()
    await election.resign()
  },
  leader: ({ election }) => election.leader(),
  observe: ({ election }) => election.observe().next(),
  close: ({ locks }) => locks.close(),
}

const abandoned = new Set()
let present
/** Node is about to end. A timer lets the call go on, so that the others are tried as well. */
process.on('beforeExit', () => {
  if (present === undefined) return
  abandoned.add(present)
  setTimeout(() => undefined, LATENCY_MS)
})
for (const [name, call] of Object.entries(CALLS)) {
  present = name
  await call(sceneOf(name))
}
present = undefined
process.stdout.write(
  JSON.stringify({ calls: Object.keys(CALLS).length, abandoned: [...abandoned] }),
)
// The leases that are still held do not matter.
process.exit()
