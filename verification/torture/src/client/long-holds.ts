/**
 * Holders: leases that are held for seconds, with waiters of the same client behind them and one of
 * another client at the end.
 *
 * A session that writes something leaves a leader without followers at once, since its writes are
 * not answered. One that is only kept alive stays there for as long as it believes the leader. So
 * each long hold has a store of its own, where nothing else happens.
 */
import { Actor, Dice, type Target } from '@holdfast/workload'
import { CAPACITY_ALL } from 'holdfast/store'
import type { Assignment } from '../protocol.js'
import { storeOf } from '@holdfast/stores'
import type { Library } from './library.js'
import { longWait } from './script.js'
import type { Site } from './site.js'

interface LongHold {
  readonly name: string
  readonly fairness: 'fifo' | 'cohort'
  /** The leases of the actors of one client: they wait for one another. */
  readonly homeMs: readonly number[]
  /** The lease of the actor of another client. */
  readonly guestMs: number
  /** For how long it is held, in milliseconds. Default: `HELD_MS`. */
  readonly heldMs?: readonly [number, number]
}

/**
 * Longer than sessions of waiters, so that these have one of their own. Callers of unequal leases
 * wait each for itself.
 */
const [LONG_MS, OTHER_MS] = [8000, 7000]
/** A renewal of it is much later than the one before. */
const LONGEST_MS = 12_000
/** Over before a leader that hears nothing has noticed. */
const SHORT_MS = 2000
const LONG_HOLDS: readonly LongHold[] = [
  { name: 'fifo', fairness: 'fifo', homeMs: [LONG_MS, LONG_MS, LONG_MS], guestMs: LONG_MS },
  { name: 'unequal', fairness: 'cohort', homeMs: [LONG_MS, OTHER_MS, LONG_MS], guestMs: LONG_MS },
  { name: 'alone', fairness: 'cohort', homeMs: [SHORT_MS], guestMs: SHORT_MS },
  {
    name: 'longest',
    fairness: 'cohort',
    homeMs: [LONGEST_MS],
    guestMs: LONGEST_MS,
    // Mostly for longer than what is left of the lease.
    heldMs: [16_000, 26_000],
  },
]
/**
 * How long one is held, in milliseconds: for longer than it takes to choose a leader and to end a
 * session.
 */
const HELD_MS = [9000, 12_000] as const

export interface Holders {
  readonly ended: Promise<unknown>
  readonly close: (graceMs: number) => Promise<void>
}

/**
 * Starts the actors of a client: at home of its own long holds, and guest of those of the client
 * before it.
 */
export async function startLongHolds(
  assignment: Assignment,
  library: Library,
  site: Site,
): Promise<Holders> {
  const { store, index } = assignment
  const { clients } = storeOf(store).torture
  const before = (index + clients - 1) % clients
  const posts = await Promise.all(
    LONG_HOLDS.flatMap((longHold) => [
      startPost(assignment, library, site, longHold, { home: index, ttlsMs: longHold.homeMs }),
      startPost(assignment, library, site, longHold, { home: before, ttlsMs: [longHold.guestMs] }),
    ]),
  )
  return {
    ended: Promise.all(posts.map(({ ended }) => ended)),
    close: async (graceMs) => void (await Promise.all(posts.map(({ close }) => close(graceMs)))),
  }
}

/** Starts actors that have one store and one lock together. */
async function startPost(
  { store: name, connection, index, seed, generation }: Assignment,
  library: Library,
  site: Site,
  longHold: LongHold,
  { home, ttlsMs }: { readonly home: number; readonly ttlsMs: readonly number[] },
): Promise<Holders> {
  const { store, end } = await storeOf(name).torture.open(connection, index, library.store)
  const locks = library.createLocks(store)
  const key = `long-hold-${home}-${longHold.name}`
  const claimed = { key, mode: 'exclusive', weight: CAPACITY_ALL, capacity: CAPACITY_ALL } as const
  const actors = ttlsMs.map((ttlMs, number) => {
    const target: Target = {
      claimed,
      lock: locks.mutex(key, { ttlMs, fairness: longHold.fairness }),
    }
    const actor = `c${index}.${key}.${number}`
    const dice = Dice.named(seed, `${actor} ${generation}`)
    return new Actor(actor, site).run(() => {
      const workMs = dice.between(...(longHold.heldMs ?? HELD_MS))
      const thinkMs = dice.between(0, 500)
      return longWait(thinkMs, target, (_belief, workFor) => workFor(workMs))
    })
  })
  return {
    ended: Promise.all(actors),
    close: async (graceMs) => {
      await locks.close({ graceMs })
      await end()
    },
  }
}
