/**
 * Checks the store: whether it answers, what it promises, and whether a lock can be acquired and
 * released.
 */
import type { Locks } from '../../index.js'
import { randomUUID } from 'node:crypto'
import { failure, ok, warning, type Finding } from './check.js'

export async function checkStore(locks: Locks): Promise<Finding[]> {
  try {
    return [...(await roundTrip(locks)), promises(locks)]
  } catch (error) {
    return [failure('round trip', error)]
  }
}

async function roundTrip(locks: Locks): Promise<Finding[]> {
  const startedMs = performance.now()
  const lock = locks.mutex(`holdfast-doctor:${randomUUID()}`)
  const first = await lock.tryAcquire()
  if (first === undefined)
    return [failure('round trip', new Error('The store reported an unused lock as busy.'))]
  await first.release()
  const second = await lock.acquire({ waitMs: 1_000 })
  const outcome = await second.release()
  const ms = ((performance.now() - startedMs) / 2).toFixed(2)
  const findings = [
    outcome === 'released'
      ? ok('round trip', `a lock was taken and released in ${ms} ms`)
      : warning('round trip', 'a lease ended early'),
  ]
  findings.push(
    second.token > first.token
      ? ok('tokens', `grow: ${first.token}, ${second.token}`)
      : failure(
          'tokens',
          new Error(`The token ${second.token} came after ${first.token}: fencing does not work.`),
        ),
  )
  return findings
}

function promises({ store }: Locks): Finding {
  const { traits } = store
  const words = [
    traits.fair ? 'a fair queue' : 'no queue',
    traits.wakeUp === 'push' ? 'wake-ups' : 'polling',
    `expiry by the ${traits.expiry}'s clock`,
  ]
  return ok('promises', words.join(', '))
}
