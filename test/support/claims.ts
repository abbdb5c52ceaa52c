/** Claims of tests that use a store without the runtime. */
import { randomUUID } from 'node:crypto'
import { CAPACITY_ALL, type Claim, type Granted, type Store } from 'holdfast/store'

/** Makes a claim of an own client: for a mutex, unless `changes` names another kind. */
export function makeClaim(lock: string, changes: Partial<Claim> = {}): Claim {
  const owner = { clientId: randomUUID().slice(0, 8), host: 'test', pid: process.pid }
  return {
    lock,
    id: `${owner.clientId}.${randomUUID().slice(0, 8)}`,
    kind: 'mutex',
    capacity: CAPACITY_ALL,
    weight: changes.kind === 'semaphore' ? 1 : CAPACITY_ALL,
    ttlMs: 30_000,
    heartbeatMs: 1000,
    owner,
    ...changes,
  }
}

export const QUEUE = { enqueue: true, tokens: 1 } as const
export const TRY = { enqueue: false, tokens: 1 } as const

/** Takes a free lock, or fails. */
export async function take(store: Store, claim: Claim): Promise<Granted & { token: bigint }> {
  const result = await store.attempt(claim, TRY)
  if (result.outcome !== 'granted' || result.token === undefined) {
    throw new Error(
      `the lock ${claim.lock} was expected to be free, and the answer is ${result.outcome}`,
    )
  }
  return { ...result, token: result.token }
}
