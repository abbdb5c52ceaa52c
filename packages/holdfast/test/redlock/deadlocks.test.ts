/** Deadlocks over Redlock, which has no queue: only those inside one client are found. */
import { createLocks, DeadlockError, LockTimeoutError, type Locks } from 'holdfast'
import { afterAll, expect, test } from 'vitest'
import { deferred, outcomeOf } from '../support/world.js'
import { startWorld } from './support/world.js'

const world = await startWorld(3)

afterAll(() => world.end())

/** Closes a deadlock over two mutexes. Resolves to what became of the two runs. */
async function closeCycle(clients: readonly [Locks, Locks], waitMs: number) {
  const names = [`a-${waitMs}`, `b-${waitMs}`] as const
  const bothHold = deferred()
  let holding = 0
  const runs = clients.map((locks, index) =>
    outcomeOf(
      locks.mutex(names[index] as string).run(async () => {
        holding += 1
        if (holding === 2) bothHold.resolve()
        await bothHold.promise
        return locks.mutex(names[1 - index] as string).run(() => 'done', { waitMs })
      }),
    ),
  )
  return Promise.all(runs)
}

test('a deadlock inside one client is found at once', async () => {
  const locks = createLocks(world.open())
  const startMs = performance.now()
  const outcomes = await closeCycle([locks, locks], 30_000)
  expect(performance.now() - startMs).toBeLessThan(8000)
  const errors = outcomes.flatMap((outcome) => ('error' in outcome ? [outcome.error] : []))
  expect(errors).toEqual([expect.any(DeadlockError)])
  expect((errors[0] as DeadlockError).cycle).toHaveLength(2)
  expect(outcomes).toContainEqual({ value: 'done' })
  await locks.close()
})

test('a deadlock across two clients ends with waitMs, and names the holder', async () => {
  const clients = [createLocks(world.open()), createLocks(world.open())] as const
  const outcomes = await closeCycle(clients, 2500)
  const errors = outcomes.flatMap((outcome) => ('error' in outcome ? [outcome.error] : []))
  expect(errors.length).toBeGreaterThan(0)
  for (const error of errors) {
    expect(error).toBeInstanceOf(LockTimeoutError)
    expect((error as LockTimeoutError).isAnswered).toBe(true)
  }
  await Promise.all(clients.map((locks) => locks.close()))
})
