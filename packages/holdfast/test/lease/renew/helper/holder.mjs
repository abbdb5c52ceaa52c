/**
 * A process that holds a lock and blocks its event loop. Its argument is JSON:
 * `{ url | directory | rest, options, blockMs, scene, warmMs, awaitWorker, lingerMs }`.
 * It prints a line of JSON for each step.
 */
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { BroadcastChannel } from 'node:worker_threads'
import { createLocks, onLockEvent } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'
import { redisStore } from 'holdfast/redis'
import { openStore } from 'holdfast/url'

const terms = JSON.parse(process.argv[2])
const { url, directory, rest, options, blockMs, scene, warmMs = 500, awaitWorker, lingerMs } = terms

const WARM = 'warm'
const WARM_TTL_MS = 1000

function print(step, more) {
  process.stdout.write(`${JSON.stringify({ step, ...more })}\n`)
}

/** Blocks the event loop. A loop that computes would take a processor from the other processes. */
function block(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

for (const event of ['helper-lost', 'lost'])
  onLockEvent(event, ({ error, reason, lock }) => {
    if (lock !== WARM) print(event, { error: error?.message, reason })
  })

function openIt() {
  if (rest) return redisStore(rest)
  return directory === undefined ? openStore(url) : embeddedStore({ directory })
}

function workerConnected() {
  const channel = new BroadcastChannel('worker')
  return once(channel, 'message').finally(() => channel.close())
}

/** Resolves when the worker renews: a lease has survived a block that is longer than its TTL. */
async function workerRenews() {
  for (;;) {
    const lease = await locks.mutex(WARM).acquire({ ttlMs: WARM_TTL_MS })
    block(1.5 * WARM_TTL_MS)
    const { held } = lease
    await lease.release()
    if (held) return
  }
}

const store = await openIt()
const connected = awaitWorker ? workerConnected() : undefined
const locks = createLocks(store, options)
// The worker has a connection when the block begins, as in a process that runs for a while.
if (scene === undefined && !awaitWorker) await workerRenews()
else if (scene !== 'at-once')
  await locks.mutex(WARM).run(() => pause(warmMs, undefined, { ref: true }))
await connected
const lease = await locks.mutex('a').acquire()
print('held')
switch (scene) {
  case 'end':
    break
  case 'wait':
    await pause(blockMs, undefined, { ref: true })
    print('over', { held: lease.held })
    await locks.close()
    break
  case 'export':
    block(blockMs)
    print('exported', { handle: await lease.export() })
    await locks.close()
    break
  default: {
    block(blockMs)
    const { held } = lease
    print('woke', { held, outcome: await lease.release() })
    if (lingerMs) await pause(lingerMs, undefined, { ref: true })
    await locks.close()
    print('closed')
  }
}
