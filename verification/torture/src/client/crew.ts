/** The actors of one process, over the real library. */
import { Actor, Dice } from '@holdfast/workload'
import type { Assignment, FromClient, ToClient } from '../protocol.js'
import { Blocks, helpedBy } from './blocks.js'
import { startCrowd } from './crowd.js'
import { startLateRenewers } from './late-renewers.js'
import { loadLibrary } from './library.js'
import { type Log } from './log.js'
import { ResourceClient } from './resource.js'
import { storeOf } from '@holdfast/stores'
import { Adopters } from './adopters.js'
import { drawStep } from './script.js'
import { startWorkers } from './workers.js'
import { startSharers } from './sharers.js'
import { Site } from './site.js'
import { startLongHolds } from './long-holds.js'

export interface Crew {
  /** Resolves when every actor has ended, which they do after `drain`. */
  readonly ended: Promise<void>
  counts(): { readonly leases: number; readonly losses: number; readonly waiting: number }
  readonly drain: () => void
  readonly whenHolding: (tell: () => void) => void
  /** Adopts a lease of another process, where the locks can. */
  readonly adopt?: (order: Extract<ToClient, { ask: 'adopt' }>) => void
  /** Blocks the event loop, and judges afterwards what is held. */
  readonly block?: (order: Extract<ToClient, { ask: 'block' }>) => Promise<void>
  close(): Promise<void>
}

/** How long `close` lets callbacks run: those of a drained crew are over. */
const GRACE_MS = 200

/** @param say what leases are exported goes to the conductor */
export async function startCrew(
  assignment: Assignment,
  log: Log,
  say: (message: FromClient) => void,
): Promise<Crew> {
  const { store: name, connection, copy, seed, index, generation, ttlMs, resource } = assignment
  const library = await loadLibrary(copy)
  const { store, end } = await storeOf(name).torture.open(connection, index, library.store)
  const awaitRelease = Dice.named(seed, `releases ${index} ${generation}`).chance(0.75)
  const locks = library.createLocks(store, { ttlMs, awaitRelease, ...helpedBy(assignment) })
  const site = new Site(library, locks, log, await ResourceClient.open(resource), assignment)
  const blocks =
    assignment.blocks && new Blocks(site, log, library, { ...assignment.blocks, ttlMs })
  const adopters = new Adopters(site, log)
  site.whenExported = (exported, heirs) => say({ said: 'exported', exported, heirs })
  const crew = startActors(assignment, site)
  const longHolds = assignment.longHolds
    ? await startLongHolds(assignment, library, site)
    : undefined
  const late = assignment.late ? await startLateRenewers(assignment, library, site) : undefined
  const workers = blocks ? startWorkers(assignment, site) : undefined
  const crowd = startCrowd(assignment, site)
  const sharers = assignment.shares ? startSharers(assignment, site) : undefined
  return {
    ended: Promise.all([...crew, crowd, workers, sharers, longHolds?.ended, late?.ended]).then(() =>
      adopters.ended(),
    ),
    counts: () => ({ leases: site.leases, losses: site.losses, waiting: site.waiting }),
    drain: () => void (site.closing = true),
    whenHolding: (tell) => site.whenHolding(tell),
    adopt: (order) => adopters.adopt(order),
    ...(blocks && { block: (order) => blocks.block(order) }),
    async close() {
      blocks?.end()
      await Promise.all([
        locks.close({ graceMs: GRACE_MS }),
        longHolds?.close(GRACE_MS),
        late?.close(GRACE_MS),
      ])
      await end()
      site.end()
    },
  }
}

function startActors(
  { store, seed, index, generation, actors }: Assignment,
  site: Site,
): Promise<void>[] {
  return Array.from({ length: actors }, (_, number) => {
    const actor = `c${index}.${String.fromCharCode(97 + number)}`
    const dice = Dice.named(seed, `${actor} ${generation}`)
    return new Actor(actor, site).run(() => drawStep(dice, site, storeOf(store).torture.clients))
  })
}
