/** Locks that stay taken when the process that took them is killed. */
import assert from 'node:assert/strict'
import { Group } from '../case.js'
import type { Context } from '../context.js'
import { keeps, mustNotRun, worker as needsWorker } from '../needs.js'
import type { WorkerProcess } from '../worker/process.js'
import { START_MS, withWorkers } from './with-workers.js'

export const killedKeepers = new Group('processes', [needsWorker, keeps])

/** Resolves when the worker has taken a first lock, and with it the time to connect. */
async function started(context: Context, worker: WorkerProcess): Promise<void> {
  const first = { lock: context.name('first'), ttlMs: context.longMs }
  const ready = worker.ask({ ask: 'acquire', ...first })
  await context.time.within(ready, START_MS, 'the start of a worker')
}

killedKeepers.test(
  'a lock with atLeastMs stays taken when its holder is killed',
  async (context) => {
    await withWorkers(context, async (start) => {
      const worker = start()
      await started(context, worker)
      const mutex = (await context.locks()).mutex(context.name())
      const atLeastMs = Math.max(1_500, context.shortMs)
      // The time counts from the grant, which comes after the request.
      const untilMs = context.time.nowMs() + atLeastMs - 1
      const held = worker.ask({ ask: 'keep', lock: context.name(), atLeastMs })
      await context.time.within(held, START_MS, 'the lock in a worker')
      await worker.kill()
      for (;;) {
        const lease = await mutex.tryAcquire()
        if (context.time.nowMs() >= untilMs) break
        assert.equal(lease, undefined)
        await context.time.pass(100)
      }
    })
  },
)

killedKeepers.test(
  'a slot of a killed process does not run again, and the next one runs after its TTL',
  async (context) => {
    await withWorkers(context, async (start) => {
      const worker = start()
      await started(context, worker)
      const locks = await context.locks()
      const ttlMs = Math.max(1_500, context.shortMs)
      const slot = context.time.clock.wallMs()
      const terms = { atLeastMs: 60_000, ttlMs }
      const begun = worker.ask({ ask: 'tick', lock: context.name(), slot, ...terms })
      await context.time.within(begun, START_MS, 'the run in a worker')
      await worker.kill()
      const again = await locks.oncePerTick(context.name(), mustNotRun, { slot, ...terms })
      assert.ok(!again.ran && again.reason === 'taken')
      const next = { slot: slot + 1_000, overlap: 'queue', ...terms } as const
      const ran = locks.oncePerTick(context.name(), () => undefined, next)
      const limitMs = ttlMs + 1_000 + context.slackMs
      assert.ok((await context.time.within(ran, limitMs, 'the next run')).ran)
    })
  },
)
