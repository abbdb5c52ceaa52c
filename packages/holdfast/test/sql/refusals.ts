/** What tests of both databases do about refusals and about the schema. */
import { createLocks, type LockError, type Store } from 'holdfast'
import { expect } from 'vitest'
import { after } from '../../../../test/support/after.js'

/** What an attempt fails with. The store is closed after the test. */
export async function failureOf(store: Store): Promise<LockError> {
  // What is in doubt is withdrawn for as long as it could be granted, so closing takes as long.
  const locks = createLocks(store, { ttlMs: 300 })
  after(() => locks.close())
  const error: unknown = await locks
    .mutex('m')
    .tryAcquire()
    .then(
      () => 'it was acquired',
      (reason: unknown) => reason,
    )
  return error as LockError
}

/** Several clients find no schema at the same moment, and each may make it. */
export async function expectOneSchema(open: () => Store): Promise<void> {
  const clients = Array.from({ length: 4 }, () => createLocks(open()))
  const leases = await Promise.all(clients.map((locks) => locks.mutex('m').tryAcquire()))
  expect(leases.filter((lease) => lease !== undefined)).toHaveLength(1)
  for (const locks of clients) await locks.close()
}

/** The schema is made again while a lock is held. */
export async function expectKept(store: Store, makeSchema: () => unknown): Promise<void> {
  const locks = createLocks(store)
  const lease = await locks.mutex('kept').acquire()
  makeSchema()
  expect(await lease.release()).toBe('released')
  await locks.close()
}
