/**
 * Looks for entries that clients left behind in the queues of a service. The session of a client
 * keeps all its entries, so each client holds a lock of its own during the search.
 */
import type { Lease } from 'holdfast'
import type { Ground, Site } from './site.js'

/** What could not be taken out is tried again each second, and when the service has answered. */
const SETTLE_MS = 2500
/** The locks that keep the sessions. */
const KEEPER = 'keeper'

export async function findLeaks(
  { agenda, server, claimants }: Ground,
  sites: readonly Site[],
  exhausted: () => boolean,
): Promise<string[]> {
  const kept: Lease[] = []
  for (const [index, { client }] of sites.entries())
    client.locks
      .mutex(`${KEEPER}-${index}`)
      .acquire()
      .then((lease) => kept.push(lease), noLease)
  await agenda.run(agenda.nowMs + SETTLE_MS, exhausted)
  const keepers = new Set(kept.map(({ claimId }) => claimId))
  const living = new Set(sites.map(({ client }) => client.locks.clientId))
  const leaked = server.entriesOf?.(living) ?? []
  for (const lease of kept) void lease.release()
  return leaked
    .filter(({ claimId }) => !keepers.has(claimId) && !claimants.exported.has(claimId))
    .map(({ claimId, lock }) => `the claim ${claimId} in the queue of "${lock}"`)
}

function noLease(): void {
  // A client that cannot get its lock in a healed world is found by its actors.
}
