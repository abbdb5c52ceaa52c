/**
 * A process that holds a lock and blocks its event loop. Its argument is JSON:
 * `{ url | directory, options, blockMs, scene }`. It prints a line of JSON for each step.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { createLocks, onLockEvent } from 'holdfast'
import { embeddedStore } from 'holdfast/embedded'
import { openStore } from 'holdfast/url'

const { url, directory, options, blockMs, scene } = JSON.parse(process.argv[2])

function print(step, more) {
  process.stdout.write(`${JSON.stringify({ step, ...more })}\n`)
}

/** Blocks the event loop. A loop that computes would take a processor from the other processes. */
function block(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

for (const event of ['helper-lost', 'lost'])
  onLockEvent(event, ({ error, reason }) => print(event, { error: error?.message, reason }))

const store = directory === undefined ? await openStore(url) : embeddedStore({ directory })
const locks = createLocks(store, options)
// The worker has a connection when the block begins, as in a process that runs for a while.
if (scene !== 'at-once') await locks.mutex('warm').run(() => pause(500, undefined, { ref: true }))
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
  default: {
    block(blockMs)
    const { held } = lease
    print('woke', { held, outcome: await lease.release() })
    await locks.close()
    print('closed')
  }
}
