/** Claims as any client of the store could write them. */
import type { Owner, WaitNote } from 'holdfast'
import type { Store } from 'holdfast/store'

/** The weight of a mutex. */
const ALL = 2 ** 31 - 1
let claims = 0

/** Takes a lock or joins its queue, as a process whose work waits for other locks meanwhile. */
export function claim(
  store: Store,
  label: string,
  lock: string,
  waitsFor: readonly string[] = [],
  more: Partial<Owner> = {},
): void {
  claims += 1
  const notes = waitsFor.map((wanted): WaitNote => ({
    id: `w${claims}-${wanted}`,
    lock: wanted,
    weight: ALL,
    sinceMs: 1,
  }))
  const owner = {
    ...{ clientId: `client-${label}`, host: `host-${label}`, pid: claims, label },
    ...(notes.length > 0 ? { waitsFor: notes } : {}),
    ...more,
  }
  void store.attempt(
    {
      ...{ lock, id: `claim-${claims}`, kind: 'mutex', capacity: ALL, weight: ALL },
      ...{ ttlMs: 10 ** 9, heartbeatMs: 10 ** 9, owner },
    },
    { enqueue: true, tokens: 1 },
  )
}
