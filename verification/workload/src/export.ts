/** An actor leaves its lease to others. */
import type { Environment } from './actor.js'
import type { Belief } from './belief.js'

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
