/**
 * A lock of each client that it reads for longer than a lease, again and again, and that the others
 * try to write. No caller waits for it for long. What a server remembers of waiters would outlive
 * what dead readers leave there.
 */
import { Actor, Dice, targetOf } from '@holdfast/workload'
import { CAPACITY_ALL } from 'holdfast/store'
import type { Assignment } from '../protocol.js'
import { storeOf } from '@holdfast/stores'
import { longWait } from './script.js'
import type { Site } from './site.js'

/** Beyond the first lease, which is renewed meanwhile, in TTLs. */
const HELD_TTLS = [1.1, 1.25] as const
const THINK_MS = 60
const WRITE_EVERY_MS = [10, 40] as const

export function startSharers(
  { store, index, seed, generation, ttlMs }: Assignment,
  site: Site,
): Promise<unknown> {
  const { clients } = storeOf(store).torture
  const dice = Dice.named(seed, `sharers ${index} ${generation}`)
  const lockOf = (client: number) => site.locks.readWriteLock(`shared-${client}`)
  const own = targetOf(lockOf(index).read, 1, CAPACITY_ALL)
  const others = Array.from({ length: clients - 1 }, (_, further) =>
    targetOf(lockOf((index + 1 + further) % clients).write, CAPACITY_ALL, CAPACITY_ALL),
  )
  let thinkMs = 0
  const reading = new Actor(`c${index}.reader`, site).run(() => {
    const step = longWait(thinkMs, own, (_belief, workFor) =>
      workFor(dice.between(...HELD_TTLS) * ttlMs),
    )
    thinkMs = THINK_MS
    return step
  })
  const writing = new Actor(`c${index}.writer`, site).run(() => ({
    thinkMs: dice.between(...WRITE_EVERY_MS),
    act: (actor) =>
      actor.hold({
        target: dice.pick(others),
        how: 'try',
        waitMs: 0,
        work: (belief) => actor.workFor(5, belief),
      }),
  }))
  return Promise.all([reading, writing])
}
