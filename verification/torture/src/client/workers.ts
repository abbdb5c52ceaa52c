/**
 * A lock of each client that it holds most of the time, so that a block of its event loop meets a
 * lease. The client before it waits for the same lock.
 */
import { Actor, Dice } from '@holdfast/workload'
import type { Assignment } from '../protocol.js'
import { storeOf } from '@holdfast/stores'
import { longWait } from './script.js'
import type { Site } from './site.js'

interface Shift {
  readonly heldMs: readonly [least: number, most: number]
  readonly thinkMs: number
}

const HOME: Shift = { heldMs: [100, 800], thinkMs: 20 }
const GUEST: Shift = { heldMs: [5, 20], thinkMs: 400 }

export function startWorkers(
  { store, index, seed, generation, ttlMs }: Assignment,
  site: Site,
): Promise<unknown> {
  const { clients } = storeOf(store).torture
  const dice = Dice.named(seed, `workers ${index} ${generation}`)
  const start = (client: number, { heldMs, thinkMs }: Shift): Promise<void> => {
    const name = `worker-${client}`
    const target = site.renewed(site.mutex(name, ttlMs))
    return new Actor(`c${index}.${name}`, site).run(() =>
      longWait(thinkMs, target, (_belief, workFor) => workFor(dice.between(...heldMs))),
    )
  }
  return Promise.all([start(index, HOME), start((index + 1) % clients, GUEST)])
}
