/**
 * A crowd: many waiters of one client on two locks, each held for a moment only. What waiting costs
 * grows with them, and must not cost any holder its lease.
 */
import { Actor, Dice, type Target } from '@holdfast/workload'
import type { Assignment } from '../protocol.js'
import { longWait } from './script.js'
import type { Site } from './site.js'

const PERMITS = 3
/** How long one is held, in milliseconds. */
const HELD_MS = [0, 4] as const

/**
 * Starts the waiters of a client: half of them want a mutex in strict order, the others a permit.
 */
export function startCrowd(
  { waiters, index, seed, generation }: Assignment,
  site: Site,
): Promise<unknown> {
  const targets = targetsOf(site)
  const actors = Array.from({ length: waiters }, (_, number) => {
    const target = targets[number % targets.length] as Target
    const actor = `c${index}.crowd-${number}`
    const dice = Dice.named(seed, `${actor} ${generation}`)
    return new Actor(actor, site).run(() => {
      const [thinkMs, workMs] = [dice.between(0, 5), dice.between(...HELD_MS)]
      return longWait(thinkMs, target, (_belief, workFor) => workFor(workMs))
    })
  })
  return Promise.all(actors)
}

function targetsOf({ locks }: Site): Target[] {
  const { kinds } = locks.store.traits
  const mutex: Target = {
    claimed: { key: 'crowd', mode: 'exclusive', weight: 1, capacity: 1 },
    lock: locks.mutex('crowd', { fairness: 'fifo' }),
  }
  if (!kinds.includes('semaphore')) return [mutex]
  const permit: Target = {
    claimed: { key: 'crowd-permits', mode: 'shared', weight: 1, capacity: PERMITS },
    lock: locks.semaphore('crowd-permits', { permits: PERMITS }),
  }
  return [mutex, permit]
}
