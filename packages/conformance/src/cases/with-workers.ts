/** Worker processes of a case, which end with it. */
import assert from 'node:assert/strict'
import type { Context } from '../context.js'
import { WorkerProcess } from '../worker/process.js'

/** How long a process may take to start, in milliseconds. */
export const START_MS = 30_000

/** Calls `use` with a function that starts workers, and kills them at the end. */
export async function withWorkers(
  context: Context,
  use: (start: () => WorkerProcess) => Promise<void>,
): Promise<void> {
  const started: WorkerProcess[] = []
  const { worker } = context.subject
  assert.ok(worker)
  try {
    await use(() => {
      const process = new WorkerProcess(worker)
      started.push(process)
      return process
    })
  } finally {
    for (const process of started) await process.kill()
  }
}
