/**
 * Leases that are renewed once, by hand and late, and then run out. A renewal that counted for
 * nothing in the service shows only where no other one follows.
 */
import { Actor, Dice, type Belief, type Target } from '@holdfast/workload'
import { CAPACITY_ALL } from 'holdfast/store'
import type { Assignment } from '../protocol.js'
import type { Library } from './library.js'
import { storeOf } from '@holdfast/stores'
import { longWait } from './script.js'
import type { Site } from './site.js'
import type { Holders } from './long-holds.js'

/** As many as keep most of the locks taken, and some actors waiting. */
const LOCKS = 40
const POSTS = 20
/**
 * Longer than the election that a fault leads to, and a request to a member that does not answer.
 */
const TTL_MS = 10_000
/** When it is renewed there is just time for a member that does not answer and another one. */
const LATE_MS = 3000
const THINK_MS = 300

export async function startLateRenewers(
  assignment: Assignment,
  library: Library,
  site: Site,
): Promise<Holders> {
  const posts = Array.from({ length: POSTS }, (_, number) =>
    startPost(assignment, library, site, number),
  )
  return {
    ended: Promise.all(posts.map(({ ended }) => ended)),
    close: async (graceMs) => void (await Promise.all(posts.map(({ close }) => close(graceMs)))),
  }
}

/**
 * Starts an actor that opens a store for each lease, over two members, in turn. Over all members,
 * and with one store forever, the stores would gather at the members that no fault has met yet.
 */
function startPost(
  { store: name, connection, index, seed, generation }: Assignment,
  library: Library,
  site: Site,
  number: number,
): Holders {
  const actor = `c${index}.late.${number}`
  const dice = Dice.named(seed, `${actor} ${generation}`)
  let first = index + number
  // They renew at different times of a fault.
  let mostThinkMs = TTL_MS
  let close: Holders['close'] | undefined
  async function visit(its: Actor, key: string): Promise<void> {
    const { ports } = connection
    const pair = [0, 1].map((next) => ports[(first + next) % ports.length] ?? 0)
    first += 1
    const { store, end } = await storeOf(name).torture.open(
      { ...connection, ports: pair },
      0,
      library.store,
    )
    const locks = library.createLocks(store, { ttlMs: TTL_MS })
    close = async (graceMs) => {
      await locks.close({ graceMs })
      await end()
    }
    const claimed = {
      key,
      mode: 'exclusive',
      weight: CAPACITY_ALL,
      capacity: CAPACITY_ALL,
    } as const
    const target: Target = { claimed, lock: locks.mutex(key, { renew: false }) }
    const wait = longWait(0, target, (belief, workFor) => renewLate(site, belief, workFor))
    await wait.act(its)
    await close(0)
  }
  const ended = new Actor(actor, site).run(() => {
    const key = `late-${dice.whole(0, LOCKS - 1)}`
    const thinkMs = dice.between(0, mostThinkMs)
    mostThinkMs = THINK_MS
    return { thinkMs, act: (its) => visit(its, key) }
  })
  return { ended, close: async (graceMs) => close?.(graceMs) }
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
