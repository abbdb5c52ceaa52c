/** An actor leaves its lease to others, and writes once more when they may hold it. */
import type { Environment } from './actor.js'
import type { Belief } from './belief.js'
import { increment } from './counter.js'
import type { Heir } from './script.js'

/** How long after its export an actor writes at the latest. */
const LATEST_WRITE_MS = 400

/**
 * Exports the lease and records that it is left. Resolves to the handle, or to undefined if the
 * lease is still here or its end is unknown.
 */
export async function exportLease(
  environment: Environment,
  belief: Belief,
): Promise<string | undefined> {
  // At the end of the run no client adopts, and the lease would last for its TTL.
  if (environment.closing || !belief.isHeld()) return undefined
  belief.release()
  environment.forget(belief)
  try {
    const handle = await belief.lease.export()
    belief.released(undefined)
    return handle
  } catch (error) {
    await environment.endure(error)
    return undefined
  }
}

/**
 * Increments the counter under an exported lease once more, about when the first heir works: as a
 * holder does whose requests are late. The resource refuses it once an heir was there.
 */
export async function incrementLate(
  environment: Environment,
  { actor, key, lease, owner, isExclusive }: Belief,
  [heir]: readonly Heir[],
): Promise<void> {
  if (!heir || !isExclusive) return
  await environment.sleep(Math.min(heir.afterMs + heir.workMs / 2, LATEST_WRITE_MS))
  if (environment.closing) return
  await increment(environment.resource, {
    key,
    owner,
    token: lease.token,
    believes: () => true,
    note: (note) => environment.note(actor, note),
  })
}
