/**
 * Leases that are renewed once, by hand and late, and then run out. A renewal that counted for
 * nothing in the service shows only where no other one follows.
 */
import { Actor, Dice, type Belief, type Target } from '@holdfast/workload'
import { CAPACITY_ALL } from 'holdfast/store'
import type { Assignment } from '../protocol.js'
import type { Library } from './library.js'
import { openStore } from './open-store.js'
import { longWait } from './script.js'
import type { Site } from './site.js'
import type { Holders } from './long-holds.js'

const LOCKS = 8
/** Each has a store of its own, which begins with another member than that of the one before it. */
const POSTS = 4
/**
 * Longer than the election that a fault leads to, and a request to a member that does not answer.
 */
const TTL_MS = 8000
/** When it is renewed there is just time for a member that does not answer and another one. */
const LATE_MS = 2500

export async function startLateRenewers(
  assignment: Assignment,
  library: Library,
  site: Site,
): Promise<Holders> {
  const { store: name, connection, index, seed, generation } = assignment
  const posts = await Promise.all(
    Array.from({ length: POSTS }, async (_, number) => {
      const { store, end } = await openStore(name, connection, index + number, library)
      const locks = library.createLocks(store, { ttlMs: TTL_MS })
      const actor = `c${index}.late.${number}`
      const dice = Dice.named(seed, `${actor} ${generation}`)
      const targets = Array.from({ length: LOCKS }, (__, lock): Target => {
        const key = `late-${lock}`
        const claimed = {
          key,
          mode: 'exclusive',
          weight: CAPACITY_ALL,
          capacity: CAPACITY_ALL,
        } as const
        return { claimed, lock: locks.mutex(key, { renew: false }) }
      })
      const ended = new Actor(actor, site).run(() => {
        const [target, thinkMs] = [dice.pick(targets), dice.between(0, 300)]
        return longWait(thinkMs, target, (belief, workFor) => renewLate(site, belief, workFor))
      })
      const close = async (graceMs: number): Promise<void> => {
        await locks.close({ graceMs })
        await end()
      }
      return { ended, close }
    }),
  )
  return {
    ended: Promise.all(posts.map(({ ended }) => ended)),
    close: async (graceMs) => void (await Promise.all(posts.map(({ close }) => close(graceMs)))),
  }
}

async function renewLate(
  site: Site,
  belief: Belief,
  workFor: (ms: number) => Promise<void>,
): Promise<void> {
  const { lease } = belief
  await workFor(lease.remainingMs - LATE_MS)
  if (site.closing || !belief.isHeld()) return
  await lease.renew().catch((error: unknown) => site.endure(error))
  await workFor(lease.remainingMs)
}
